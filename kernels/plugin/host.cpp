// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "host.h"

#include <algorithm>
#include <limits>

namespace colltune {
namespace {

static_assert(to_plugin_status(StatusCode::invalid_argument) == colltune_invalid_argument);
static_assert(to_plugin_status(StatusCode::deadline_exceeded) == colltune_deadline_exceeded);
static_assert(to_plugin_status(StatusCode::resource_exhausted) == colltune_resource_exhausted);
static_assert(to_plugin_status(StatusCode::failed_precondition) == colltune_failed_precondition);
static_assert(to_plugin_status(StatusCode::aborted) == colltune_aborted);
static_assert(to_plugin_status(StatusCode::unimplemented) == colltune_unimplemented);
static_assert(to_plugin_status(StatusCode::internal) == colltune_internal);
static_assert(to_plugin_status(StatusCode::unavailable) == colltune_unavailable);

Deadline to_deadline(std::int64_t deadline_ns) {
  return Deadline(std::chrono::nanoseconds(deadline_ns));
}

bool is_rank_of(const colltune_memory& memory, std::int32_t rank) {
  return rank >= 0 && rank < memory.ranks;
}
bool is_signal_of(const colltune_memory& memory, std::int32_t signal) {
  return signal >= 0 && signal < memory.signal_count;
}
std::string describe_signal(const colltune_memory& memory, std::int32_t rank, std::int32_t signal) {
  return "signal " + std::to_string(signal) + " of rank " + std::to_string(rank) + "; there are " +
         std::to_string(memory.signal_count) + " of each of " + std::to_string(memory.ranks) +
         " ranks";
}

/// Runs `act`; an exception becomes a status and what the host records.
template <class Act>
colltune_status guarded(colltune_communicator& communicator, Act act) noexcept {
  try {
    act();
    return colltune_ok;
  } catch (const RankMissing& missing) {
    communicator.missing = missing;
    return to_plugin_status(missing.code());
  } catch (const Error& error) {
    communicator.message = error.what();
    return to_plugin_status(error.code());
  } catch (const std::exception& error) {
    communicator.message = error.what();
    return colltune_internal;
  }
}

// The members of the host table, in its order. They have C++ language linkage; for the compilers
// that colltune supports that is the same calling convention as C's.

std::int32_t rank(const colltune_communicator* communicator) {
  return communicator->communicator.rank();
}

std::int32_t size(const colltune_communicator* communicator) {
  return communicator->communicator.size();
}

std::int32_t node_of(const colltune_communicator* communicator, std::int32_t rank) {
  const auto nodes = communicator->communicator.nodes();
  if (rank < 0 || static_cast<std::size_t>(rank) >= nodes.size()) return -1;
  return nodes[static_cast<std::size_t>(rank)];
}

std::int32_t is_oversubscribed(const colltune_communicator* communicator) {
  return communicator->communicator.is_oversubscribed() ? 1 : 0;
}

std::unique_ptr<colltune_memory> allocate_parts(colltune_communicator& owner,
                                                std::size_t bytes_per_rank, std::int32_t signals,
                                                Deadline deadline) {
  if (!owner.is_preparing)
    throw Error(StatusCode::failed_precondition, "memory is allocated in prepare alone");
  if (signals < 0)
    throw Error(StatusCode::invalid_argument, std::to_string(signals) + " signals were asked for");
  require_one_node(owner.communicator);
  if (bytes_per_rank > std::numeric_limits<std::size_t>::max() / 4)
    throw Error(StatusCode::resource_exhausted,
                std::to_string(bytes_per_rank) + " bytes per rank were asked for");
  const std::size_t data =
      std::max((bytes_per_rank + Signals::stride - 1) / Signals::stride, std::size_t{1}) *
      Signals::stride;
  auto memory = owner.communicator.allocate({data + Signals::size(signals)}, deadline);
  const Signals words(owner.communicator, *memory, data);
  return std::make_unique<colltune_memory>(colltune_memory{.owner = &owner,
                                                           .rank = owner.communicator.rank(),
                                                           .ranks = owner.communicator.size(),
                                                           .signal_count = signals,
                                                           .memory = std::move(memory),
                                                           .signals = words});
}

colltune_status allocate(colltune_communicator* communicator, std::size_t bytes_per_rank,
                         std::int32_t signals, std::int64_t deadline_ns, colltune_memory** memory) {
  return guarded(*communicator, [&] {
    auto made = allocate_parts(*communicator, bytes_per_rank, signals, to_deadline(deadline_ns));
    *memory = communicator->memories.emplace_back(std::move(made)).get();
  });
}

void* part(const colltune_memory* memory, std::int32_t rank) {
  return is_rank_of(*memory, rank) ? memory->memory->part(rank).data() : nullptr;
}

void release(colltune_memory* memory) {
  std::erase_if(memory->owner->memories,
                [memory](const auto& held) { return held.get() == memory; });
}

void signal_set(colltune_memory* memory, std::int32_t signal, std::uint64_t value) {
  if (is_signal_of(*memory, signal))
    memory->signals.set(signal, value);
  else
    memory->owner->misuse = "signal_set: " + describe_signal(*memory, memory->rank, signal);
}

std::uint64_t signal_get(const colltune_memory* memory, std::int32_t rank, std::int32_t signal) {
  if (!is_rank_of(*memory, rank) || !is_signal_of(*memory, signal)) return 0;
  return memory->signals.get(rank, signal);
}

colltune_status signal_wait(colltune_memory* memory, std::int32_t rank, std::int32_t signal,
                            std::uint64_t value, std::int64_t deadline_ns,
                            const char* waiting_for) {
  return guarded(*memory->owner, [&] {
    if (!is_rank_of(*memory, rank) || !is_signal_of(*memory, signal))
      throw Error(StatusCode::invalid_argument,
                  "signal_wait: " + describe_signal(*memory, rank, signal));
    memory->signals.wait_until(rank, signal, value, to_deadline(deadline_ns), waiting_for);
  });
}

std::int32_t is_aborted(const colltune_communicator* communicator) {
  return communicator->communicator.abort_flag().is_raised() ? 1 : 0;
}

std::int64_t now_ns() { return to_plugin_deadline(std::chrono::steady_clock::now()); }

const void* mpi_comm(const colltune_communicator* communicator) {
  return communicator->communicator.native_mpi();
}

void fail(colltune_communicator* communicator, const char* message) {
  guarded(*communicator, [=] { communicator->message = message; });
}

void miss(colltune_communicator* communicator, std::int32_t rank, const char* waiting_for) {
  guarded(*communicator, [=] {
    communicator->missing = RankMissing(rank, waiting_for, is_aborted(communicator) != 0);
  });
}

}  // namespace

const colltune_host& plugin_host() noexcept {
  static constexpr colltune_host host{.struct_size = sizeof(colltune_host),
                                      .abi_version = colltune_plugin_abi_version,
                                      .rank = rank,
                                      .size = size,
                                      .node_of = node_of,
                                      .is_oversubscribed = is_oversubscribed,
                                      .allocate = allocate,
                                      .part = part,
                                      .release = release,
                                      .signal_set = signal_set,
                                      .signal_get = signal_get,
                                      .signal_wait = signal_wait,
                                      .is_aborted = is_aborted,
                                      .now_ns = now_ns,
                                      .mpi_comm = mpi_comm,
                                      .fail = fail,
                                      .miss = miss};
  return host;
}

}  // namespace colltune
