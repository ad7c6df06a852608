// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/clock/starter.h"

#include <algorithm>
#include <vector>

#include "colltune/decide/statistics.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

/// The limit is doubled if ranks may be processes: the watchdog of the missing rank knows which
/// step it hangs in, so it should report first.
void come_together(Communicator& communicator, const RunLimits& limits, const StartPolicy& policy) {
  if (policy.barrier != nullptr)
    policy.barrier->meet(Clock::now() + 2 * limits.barrier_limit);
  else
    communicator.barrier(Clock::now() + limits.barrier_limit);
}

}  // namespace

bool ends_together(InputMode input_mode, Bytes message_size, bool shares_cores) {
  // Writing fewer bytes takes no longer than the ranks take to come together.
  constexpr Bytes smallest_awaited{std::uint64_t{16} << 10};
  return shares_cores || (input_mode != InputMode::hot && message_size >= smallest_awaited);
}

Start start_run(Communicator& communicator, const RunInput& input, const RunLimits& limits,
                const StartPolicy& policy, const ClockOffset& clock, RunWatch& watch) {
  if (policy.synchronization == Synchronization::barrier) {
    rewrite(input);
    if (watch.watches()) watch.watch_until(Clock::now() + policy.watch);
    come_together(communicator, limits, policy);
    return {.deadline = Clock::now() + limits.call_limit, .common = {}};
  }
  rewrite(input);
  communicator.barrier(Clock::now() + limits.barrier_limit);
  const auto arrival = Clock::now();
  const std::int64_t last = communicator.all_reduce_max(
      (arrival.time_since_epoch() + clock.offset).count(), arrival + limits.barrier_limit);
  const Clock::time_point common(nanoseconds(last) - clock.offset + policy.lead);
  // The last rank has arrived, so the common start lies ahead by at most `lead` plus the clocks'
  // error. Otherwise the clocks no longer agree with the estimate.
  const Clock::time_point bound = Clock::now() + policy.lead + 2 * clock.error + smallest_gap;
  const auto reading = watch.watch_until(std::min(common, bound));
  return {.deadline = reading + limits.call_limit,
          .common = common,
          .is_late = reading - common > late_tolerance || reading < common};
}

void end_run(Communicator& communicator, const RunLimits& limits, const StartPolicy& policy) {
  if (policy.ends_together) come_together(communicator, limits, policy);
}

nanoseconds find_longest_lead(Communicator& communicator, Deadline deadline) {
  constexpr int tries = 33;
  constexpr int meetings = 8;  // the ranks leave a meeting apart by about as much as one takes
  std::vector<double> times;
  for (int i = 0; i < tries; ++i) {
    const auto begin = Clock::now();
    (void)communicator.all_reduce_max(i, deadline);
    times.push_back(static_cast<double>((Clock::now() - begin).count()));
  }
  const auto own = static_cast<std::int64_t>(meetings * median_of(times));
  return std::clamp(nanoseconds(communicator.all_reduce_max(own, deadline)), shortest_lead,
                    longest_lead);
}

nanoseconds adapt_lead(nanoseconds lead, std::int64_t runs, std::int64_t late,
                       nanoseconds longest) {
  constexpr std::int64_t rare = 50;  // late runs are rare if fewer than one in this many
  if (late * rare > runs) return std::min(2 * lead, longest);
  return late > 0 ? lead : std::max(lead - lead / 16, shortest_lead);
}

}  // namespace colltune
