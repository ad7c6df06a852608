// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace colltune {

void Report::add(const Executor& executor) {
  ++communicators_;
  source_ = executor.choices().source;
  for (std::size_t i = 0; i < executor.tallies().size(); ++i) {
    const Executor::Tally& tally = executor.tallies()[i];
    if (tally.calls == 0) continue;
    Executor::Tally& sum = ran_[to_string(executor.choices().entries[i].variant)];
    sum.calls += tally.calls;
    sum.saved += tally.saved;
  }
  for (std::size_t i = 0; i < left_.size(); ++i) left_[i] += executor.left()[i];
  for (const std::string& failure : executor.failures()) ++failures_[failure];
}

std::string Report::text(int rank) const {
  if (communicators_ == 0)
    return fmt::format(
        "report of rank {}: no communicator made enough collective calls, or nothing of the "
        "table runs there",
        rank);
  std::uint64_t calls = 0;
  std::chrono::nanoseconds saved{};
  for (const auto& [variant, tally] : ran_) {
    calls += tally.calls;
    saved += tally.saved;
  }
  std::uint64_t left = 0;
  for (const std::uint64_t one : left_) left += one;
  std::string text = fmt::format(
      "report of rank {}: {} calls on {} communicator(s) ran by {}; by the table's times they took "
      "{:.3f} ms less "
      "than the library's own. {} calls were left to the library.",
      rank, calls, communicators_, source_, static_cast<double>(saved.count()) / 1e6, left);
  std::vector<std::pair<std::string, Executor::Tally>> ran(ran_.begin(), ran_.end());
  std::ranges::stable_sort(ran, std::ranges::greater{},
                           [](const auto& one) { return one.second.saved; });
  for (const auto& [variant, tally] : ran)
    text += fmt::format("\n  {:>10} calls, {:>10.3f} ms less  {}", tally.calls,
                        static_cast<double>(tally.saved.count()) / 1e6, variant);
  for (const auto& named : enum_names(Collective{}))
    if (const std::uint64_t count = left_[static_cast<std::size_t>(named.value)]; count > 0)
      text += fmt::format("\n  {:>10} calls left to the library: {}", count, named.name);
  for (const auto& [failure, times] : failures_)
    text += fmt::format("\n  not run on {} communicator(s): {}", times, failure);
  return text;
}

}  // namespace colltune
