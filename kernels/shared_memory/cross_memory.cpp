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

}  // namespace colltune
