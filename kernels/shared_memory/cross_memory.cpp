// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "cross_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using Transfer = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                             unsigned long);

/// Transfers all of `own`; one system call may transfer less.
void transfer_all(Transfer transfer, const char* name, const ProcessMemory& far, std::size_t offset,
                  std::span<std::byte> own) {
  while (!own.empty()) {
    const iovec here{own.data(), own.size()};
    const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(far.address + offset)),
                      own.size()};
    const ssize_t done = transfer(static_cast<pid_t>(far.process), &here, 1, &there, 1, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0)
      throw Error(StatusCode::unavailable,
                  std::string(name) + " of process " + std::to_string(far.process) + ": " +
                      (done < 0 ? std::strerror(errno) : "nothing was moved"));
    offset += static_cast<std::size_t>(done);
    own = own.subspan(static_cast<std::size_t>(done));
  }
}

}  // namespace

ProcessMemory own_memory(std::span<const std::byte> bytes) {
  return {::getpid(), reinterpret_cast<std::uintptr_t>(bytes.data())};
}

void read_memory(const ProcessMemory& from, std::size_t offset, std::span<std::byte> to) {
  transfer_all(::process_vm_readv, "process_vm_readv", from, offset, to);
}

void write_memory(const ProcessMemory& to, std::size_t offset, std::span<const std::byte> from) {
  transfer_all(::process_vm_writev, "process_vm_writev", to, offset,
               {const_cast<std::byte*>(from.data()), from.size()});
}

void detect_cma(Communicator& communicator, Capability& capability, Deadline deadline) {
  const int node = communicator.nodes()[static_cast<std::size_t>(communicator.rank())];
  const auto neighbours = communicator.split(node, communicator.rank(), deadline);
  const auto memory = neighbours->allocate(Bytes{sizeof(ProcessMemory)}, deadline);
  // Each rank publishes a word of its own and reads all others'.
  std::int64_t word = 1000 + neighbours->rank();
  const ProcessMemory own = own_memory(std::as_bytes(std::span(&word, 1)));
  std::memcpy(memory->part(neighbours->rank()).data(), &own, sizeof own);
  neighbours->barrier(deadline);
  std::int64_t failures = 0;
  for (int rank = 0; rank < neighbours->size(); ++rank) {
    ProcessMemory far;
    std::memcpy(&far, memory->part(rank).data(), sizeof far);
    std::int64_t seen = 0;
    try {
      read_memory(far, 0, std::as_writable_bytes(std::span(&seen, 1)));
    } catch (const Error&) {
      // The kernel or the container forbids it: this is what the probe tests for.
    }
    if (seen != 1000 + rank) ++failures;
  }
  // A barrier too: no rank's word may be destroyed while another still reads it.
  if (neighbours->all_reduce_max(failures, deadline) == 0)
    capability.features[std::string(cma_feature)] = "";
}

}  // namespace colltune
