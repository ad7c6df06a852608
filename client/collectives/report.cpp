// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "colltune/collectives/program_defaults.h"

namespace colltune {
namespace {

double in_ms(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

/// ", 12.345 ms, 0.081 us each"; nothing if no call was timed.
std::string time_text(const CallTimes& times) {
  if (times.timed == 0) return {};
  const std::string all = fmt::format(", {:>10.3f} ms", in_ms(times.all));
  if (times.calls <= times.first_calls) return all + fmt::format(", {:>11} each", "-");
  return all + fmt::format(", {:>8.3f} us each", times.mean().count() / 1e3);
}

}  // namespace

void Report::add(const Executor& executor) {
  ++communicators_;
  source_ = executor.choices().source;
  for (std::size_t i = 0; i < executor.tallies().size(); ++i) {
    const Executor::Tally& tally = executor.tallies()[i];
    const CallTimes times = tally.made.estimate();
    if (times.calls == 0 && times.timed == 0 && tally.waited == 0) continue;
    Ran& sum = ran_[to_string(executor.choices().entries[i].variant)];
    sum.times += times;
    sum.saved += tally.saved;
    sum.waited += tally.waited;
    sum.missed += tally.missed;
  }
  for (std::size_t i = 0; i < left_.size(); ++i) left_[i] += executor.left()[i].estimate();
  for (const std::string& failure : executor.failures()) ++failures_[failure];
}

void Report::add_persistent(const std::string& ran_by, const CallTimes& times) {
  persistent_[ran_by] += times;
}

void Report::add_mesh(const std::string& ran_by, const CallTimes& times) {
  meshes_[ran_by] += times;
}

std::string Report::times_text() const {
  CallTimes ours;
  CallTimes left;
  CallTimes persistent;
  CallTimes meshes;
  for (const auto& [variant, ran] : ran_) ours += ran.times;
  for (const CallTimes& one : left_) left += one;
  for (const auto& [ran_by, times] : persistent_) persistent += times;
  for (const auto& [ran_by, times] : meshes_) meshes += times;
  CallTimes all = ours;
  all += left;
  all += persistent;
  all += meshes;
  if (all.timed == 0) return {};
  std::string text = fmt::format(
      "\n  The time of these calls on this rank, waits for others included: {:.3f} ms in ours, "
      "{:.3f} ms in the library's",
      in_ms(ours.all), in_ms(left.all));
  if (persistent.calls > 0)
    text += fmt::format(", {:.3f} ms in persistent ones", in_ms(persistent.all));
  if (meshes.calls > 0) text += fmt::format(", {:.3f} ms in mesh reductions", in_ms(meshes.all));
  text += fmt::format(
      "; of it {:.3f} ms in first calls, which prepare (\"each\" is without them). Estimated from "
      "{} calls that were timed.",
      in_ms(all.of_first), all.timed);
  if (set_up_.count() > 0)
    text += fmt::format(" Setting up communicators took {:.3f} ms more.", in_ms(set_up_));
  return text;
}

std::string Report::text(int rank) const {
  if (communicators_ == 0) return fmt::format("report of rank {}: {}", rank, COLLTUNE_NONE_SET_UP);
  std::uint64_t calls = 0;
  std::chrono::nanoseconds saved{};
  for (const auto& [variant, ran] : ran_) {
    calls += ran.times.calls;
    saved += ran.saved;
  }
  std::uint64_t left = 0;
  for (const CallTimes& one : left_) left += one.calls;
  std::string text = fmt::format(
      "report of rank {}: {} calls on {} communicator(s) ran by {}; by the table's times they took "
      "{:.3f} ms less "
      "than the library's own. {} calls were left to the library.",
      rank, calls, communicators_, source_, in_ms(saved), left);
  text += times_text();
  std::vector<std::pair<std::string, Ran>> all(ran_.begin(), ran_.end());
  std::ranges::stable_sort(all, std::ranges::greater{},
                           [](const auto& one) { return one.second.saved; });
  for (const auto& [variant, ran] : all)
    if (ran.times.calls > 0)
      text += fmt::format("\n  {:>10} calls{}, {:>10.3f} ms less  {}", ran.times.calls,
                          time_text(ran.times), in_ms(ran.saved), variant);
  for (const auto& named : enum_names(Collective{}))
    if (const CallTimes& times = left_[static_cast<std::size_t>(named.value)]; times.calls > 0)
      text += fmt::format("\n  {:>10} calls left to the library: {}{}", times.calls, named.name,
                          time_text(times));
  for (const auto& [variant, ran] : all)
    if (ran.waited > 0)
      text += fmt::format(
          "\n  {:>10} of these while it did not pay to prepare what saves {:.3f} ms in them: {}",
          ran.waited, in_ms(ran.missed), variant);
  for (const auto& [ran_by, times] : meshes_)
    text += fmt::format("\n  {:>10} mesh reductions{}  {}", times.calls, time_text(times), ran_by);
  for (const auto& [ran_by, times] : persistent_)
    text += fmt::format("\n  {:>10} persistent calls{}  {}", times.calls, time_text(times), ran_by);
  for (const auto& [failure, times] : failures_)
    text += fmt::format("\n  not run on {} communicator(s): {}", times, failure);
  return text;
}

}  // namespace colltune
