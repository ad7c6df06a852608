// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "compat_loop.h"

#include <algorithm>
#include <array>

#include "activity_clock.h"
#include "colltune/sweep/clock/run_timer.h"
#include "control/extremes.h"
#include "preparation.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

struct Loop {
  int skipped = 0;
  int counted = 0;
};

// OMB 7.4, c/util/osu_util.h: COLL_LOOP_*, COLL_SKIP_*, LARGE_MESSAGE_SIZE.
Loop osu_loop(const TuningKey& key) {
  constexpr Bytes largest_small{8192};
  return osu_size(key) > largest_small ? Loop{.skipped = 10, .counted = 100}
                                       : Loop{.skipped = 100, .counted = 1000};
}

// nccl-tests, src/common.cu: warmup_iters, iters.
constexpr Loop nccl_loop{.skipped = 1, .counted = 20};

/// This rank's mean of one call, in ns.
double run_osu(CellContext& context, Trial& trial, const Loop& loop) {
  Communicator& starts = *context.world.starts;
  const RunLimits limits = context.limits_of(trial);
  starts.barrier(Clock::now() + limits.barrier_limit);
  nanoseconds sum{};
  for (int i = 0; i < loop.skipped + loop.counted; ++i, ++trial.runs) {
    context.enter_run(name_of(Activity::batch), trial, limits);
    if (!trial.fault)
      trial.fault = catch_fault([&] {
        const TimedCalls calls = time_calls(*trial.operation, 1, Clock::now() + limits.call_limit);
        if (i >= loop.skipped) sum += calls.duration();
      });
    starts.barrier(Clock::now() + limits.barrier_limit);
  }
  return static_cast<double>(sum.count()) / loop.counted;
}

double run_nccl(CellContext& context, Trial& trial, const Loop& loop) {
  Communicator& starts = *context.world.starts;
  RunLimits limits = context.limits_of(trial);
  limits.calls = loop.counted;
  double mean = 0;
  context.enter_run(name_of(Activity::batch), trial, limits);
  trial.fault = catch_fault(
      [&] { (void)time_calls(*trial.operation, loop.skipped, Clock::now() + limits.call_limit); });
  starts.barrier(Clock::now() + limits.barrier_limit);
  if (!trial.fault)
    trial.fault = catch_fault([&] {
      const TimedCalls calls = time_calls(*trial.operation, loop.counted,
                                          Clock::now() + loop.counted * limits.call_limit);
      mean = static_cast<double>(calls.duration().count()) / loop.counted;
    });
  trial.runs += loop.skipped + loop.counted;
  return mean;
}

}  // namespace

Bytes osu_size(const TuningKey& key) {
  switch (key.problem.collective) {
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter:
      return {key.problem.message_size.value / static_cast<std::uint64_t>(key.topology.ranks)};
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::broadcast:
    case Collective::reduce:
      return key.problem.message_size;
  }
  return key.problem.message_size;
}

std::vector<CompatTime> time_like(CompatTool tool, CellContext& context) {
  const Loop loop = tool == CompatTool::osu ? osu_loop(context.cell.key) : nccl_loop;
  std::vector<CompatTime> times;
  for (Trial& trial : context.trials) {
    CompatTime time{.cell = static_cast<std::size_t>(context.index),
                    .variant = trial.name,
                    .iterations = loop.counted};
    if (trial.is_alive()) {
      double own_ns = 0;
      if (context.world.is_member()) {
        const ActivityScope scope(context.activities, Activity::batch);
        own_ns = tool == CompatTool::osu ? run_osu(context, trial, loop)
                                         : run_nccl(context, trial, loop);
      } else {
        trial.runs += loop.skipped + loop.counted;
      }
      Trial* const one = &trial;
      if (context.vote_on(std::span(&one, 1))) (void)renew_lost(context);
      // In picoseconds, since a mean of 1,000 calls is finer than a nanosecond.
      const auto own = static_cast<std::int64_t>(own_ns * 1e3);
      Highest slowest;
      Lowest fastest;
      std::array<std::int64_t, 1> sum{};
      if (context.world.is_member()) {
        slowest = own;
        fastest = own;
        sum[0] = own;
      }
      context.enter_control();
      ExtremesExchange exchange;
      exchange.add(slowest);
      exchange.add(fastest);
      exchange.exchange(context.control);
      context.control.all_reduce_sum(sum);
      time.max_us = static_cast<double>(slowest.value_or(0)) / 1e6;
      time.min_us = static_cast<double>(fastest.value_or(0)) / 1e6;
      time.mean_us = static_cast<double>(sum[0]) / 1e6 / context.cell.key.topology.ranks;
    }
    if (!trial.is_alive()) time.failure = trial.detail;
    if (context.control.rank() == 0) times.push_back(std::move(time));
  }
  return times;
}

}  // namespace colltune
