// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What a member asks of the tuner and tells the profiler that the environment names.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "nccl_library/entries.h"
#include "support/fake_nccl/communicators.h"
#include "support/fake_nccl/selection.h"

namespace colltune::test {
namespace {

using nccl::Result;

/// NCCL's own choice is the first of these that is there.
float cost_of(const nccl::Entry& entry) {
  return static_cast<float>(static_cast<int>(entry.algorithm) * 10 +
                            static_cast<int>(entry.protocol) + 1);
}

std::uint64_t bit_of(const nccl::Entry& entry) {
  return std::uint64_t{1} << (static_cast<unsigned>(entry.algorithm) * nccl::protocol_count +
                              static_cast<unsigned>(entry.protocol));
}

/// Of this library, as NCCL's logger is of its.
void log_nothing(int, unsigned long, const char*, int, const char*, ...) {}

std::size_t bytes_of(const FakeCall& call, int ranks) {
  const std::size_t block = call.count * size_of(call.type);
  return shape_of(call.collective).has_block_per_rank() ? block * static_cast<std::size_t>(ranks)
                                                        : block;
}

}  // namespace

void FakeMember::load_profiler() {
  FakeLibrary& library = fake_library();
  const std::lock_guard environment(library.environment);
  const char* const plugin = std::getenv("NCCL_PROFILER_PLUGIN");
  if (plugin == nullptr || std::strcmp(plugin, "none") == 0) return;
  int interface_version = 0;
  {
    const std::lock_guard lock(library.mutex);
    interface_version = library.settings.profiler_interface;
  }
  auto& profiler = library.profilers[std::string(plugin) + std::to_string(interface_version)];
  if (!profiler) {
    try {
      profiler = std::make_unique<LoadedProfiler>(plugin, interface_version);
    } catch (const std::exception&) {
      return;  // as NCCL: no profiler, then
    }
  }
  profiler->init(&profiler_context_, group_->identity, &library.mask, group_->ranks, rank_);
  profiler_ = profiler.get();
}

void FakeMember::begin_call(FakeCall& call) {
  if (profiler_ == nullptr) return;
  call.events = std::atomic_ref(fake_library().mask).load(std::memory_order_relaxed);
  if ((call.events & (nccl::profile_collective | nccl::profile_transfer)) == 0) return;
  profiler_->tell(profiler_context_, nccl::profile_group_call, rank_);
  profiler_->tell(profiler_context_, nccl::profile_collective_call, rank_);
}

void FakeMember::tell_profiler(const FakeCall& call, std::uint64_t number) const {
  if (profiler_ == nullptr || group_->ranks == 1 || call.choice.entry == copy_engine_entry) return;
  if (call.choice.entry < 0) {
    if ((call.events & nccl::profile_transfer) != 0) tell_of_transfers(call);
    return;
  }
  if ((call.events & nccl::profile_collective) == 0) return;
  constexpr std::array algorithms{"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                  "NVLS_TREE", "PAT"};
  constexpr std::array protocols{"LL", "LL128", "SIMPLE"};
  // Of 2.28: kernels for windows are told as the first entry, without channels.
  const bool is_symmetric = call.choice.entry == symmetric_kernel_entry;
  const auto entry = static_cast<std::size_t>(is_symmetric ? 0 : call.choice.entry);
  profiler_->tell(profiler_context_, rank_,
                  nccl::ProfiledCollective{.sequence_number = number,
                                           .function = "Collective",
                                           .send = call.send,
                                           .receive = call.receive,
                                           .count = call.count,
                                           .root = call.root,
                                           .data_type = "ncclFloat32",
                                           .channels = static_cast<std::uint8_t>(
                                               is_symmetric ? 0 : call.choice.channels),
                                           .warps = 16,
                                           .algorithm = algorithms[entry / nccl::protocol_count],
                                           .protocol = protocols[entry % nccl::protocol_count]});
}

void FakeMember::tell_of_transfers(const FakeCall& call) const {
  const std::size_t block = call.count * size_of(call.type);
  const bool is_root = rank_ == call.root;
  const auto tell = [&](const char* function, std::byte* buffer, bool has_all) {
    for (int peer = has_all ? 0 : call.root; peer < (has_all ? group_->ranks : call.root + 1);
         ++peer)
      profiler_->tell(profiler_context_, rank_,
                      nccl::ProfiledTransfer{
                          .function = function,
                          .buffer = buffer + (has_all ? static_cast<std::size_t>(peer) * block : 0),
                          .data_type = "ncclFloat32",
                          .count = call.count,
                          .peer = peer});
  };
  auto* const send = const_cast<std::byte*>(call.send);
  if (call.collective != Collective::scatter || is_root)
    tell("Send", send, call.collective != Collective::gather);
  if (call.collective != Collective::gather || is_root)
    tell("Recv", call.receive, call.collective != Collective::scatter);
}

Result FakeMember::make_context() {
  FakeLibrary& library = fake_library();
  const std::lock_guard environment(library.environment);
  const char* const plugin = std::getenv("NCCL_TUNER_PLUGIN");
  if (plugin == nullptr || group_->ranks == 1) return nccl::result_success;
  int interface_version = 0;
  const char* table = nullptr;
  std::uint64_t identity = group_->identity;
  {
    const std::lock_guard lock(library.mutex);
    interface_version = library.settings.tuner_interface;
    table = library.settings.table[rank_];
    if (library.settings.rank_with_another_identity == rank_) ++identity;
  }
  auto& tuner = library.tuners[std::string(plugin) + std::to_string(interface_version)];
  if (!tuner) {
    try {
      tuner = std::make_unique<LoadedTuner>(plugin, interface_version);
    } catch (const std::exception&) {
      return nccl::result_success;  // as NCCL: no tuner, then
    }
  }
  constexpr const char* variable = "COLLTUNE_TABLE";
  if (table != nullptr) ::setenv(variable, table, 1);
  const Result made =
      tuner->init(&context_, identity, static_cast<std::size_t>(group_->ranks), 1, &log_nothing);
  if (table != nullptr) ::unsetenv(variable);
  if (made == nccl::result_success) tuner_ = tuner.get();
  return made;
}

Costs FakeMember::costs_of(nccl::Function function, std::size_t bytes) const {
  FakeLibrary& library = fake_library();
  const std::lock_guard lock(library.mutex);
  const FakeNcclSettings& settings = library.settings;
  std::uint64_t without = settings.unavailable[rank_];
  if (bytes >= settings.long_bytes) without |= settings.unavailable_for_long;
  Costs costs = Costs::of(nccl::cost_ignored);
  for (const nccl::Entry& entry : nccl::entries_of(function))
    if (nccl::why_not_there(entry, {.ranks_per_node = group_->ranks, .ranks = group_->ranks})
            .empty() &&
        (without & bit_of(entry)) == 0)
      costs.at(entry.algorithm, entry.protocol) = cost_of(entry);
  return costs;
}

Result FakeMember::choose(const FakeCall& call, FakeNcclChoice& choice) {
  if (const int entry = entry_in_windows(call); entry >= 0 && group_->ranks > 1) {
    choice.entry = entry;
    const std::lock_guard lock(fake_library().mutex);
    fake_library().last[static_cast<std::size_t>(rank_)] = choice;
    return nccl::result_success;
  }
  const auto function = nccl::function_of(call.collective);
  if (!function || group_->ranks == 1) return nccl::result_success;
  const std::size_t bytes = bytes_of(call, group_->ranks);
  Costs costs = costs_of(*function, bytes);
  keep_selected(call.selection, costs);
  const Costs offered = costs;
  bool is_plain_minimum = false;
  {
    const std::lock_guard lock(fake_library().mutex);
    is_plain_minimum = fake_library().settings.version >= nccl::first_plain_minimum;
  }
  int channels = 0;
  if (tuner_ != nullptr &&
      tuner_->get_coll_info()(context_, static_cast<int>(*function), bytes, 1,
                              reinterpret_cast<float**>(costs.entries.data()),  // NOLINT
                              nccl::algorithm_count, nccl::protocol_count, 0,
                              &channels) != nccl::result_success)
    return nccl::result_internal_error;
  std::optional<std::size_t> best;
  // Since 2.31 whatever could be chosen before the tuner was asked, and the last of equals.
  for (std::size_t entry = 0; entry < costs.entries.size(); ++entry)
    if (is_plain_minimum ? offered.entries[entry] >= 0 : costs.entries[entry] >= 0)
      if (!best || costs.entries[entry] < costs.entries[*best] ||
          (is_plain_minimum && costs.entries[entry] == costs.entries[*best]))
        best = entry;
  if (!best) return nccl::result_invalid_usage;
  choice.entry = static_cast<int>(*best);
  {
    const std::lock_guard lock(fake_library().mutex);
    if (fake_library().settings.entry_that_runs >= 0)
      choice.entry = fake_library().settings.entry_that_runs;
  }
  const auto protocol = static_cast<nccl::Protocol>(choice.entry % nccl::protocol_count);
  const std::lock_guard lock(fake_library().mutex);
  const int most = std::min(fake_library().settings.channels,
                            nccl::most_channels_of(*function, protocol, bytes));
  const int own = std::min(most, fake_library().settings.own_channels);
  const bool is_limit = fake_library().settings.version >= nccl::first_channels_as_limit;
  if (call.ctas > 0)  // it has the last word
    choice.channels = std::min(call.ctas, most);
  else
    choice.channels = channels == 0 ? own : std::min(channels, is_limit ? own : most);
  fake_library().last[static_cast<std::size_t>(rank_)] = choice;
  return nccl::result_success;
}

}  // namespace colltune::test
