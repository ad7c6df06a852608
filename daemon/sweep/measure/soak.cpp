// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "soak.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "activity_clock.h"
#include "colltune/decide/decide.h"
#include "colltune/sweep/clock/run_timer.h"
#include "control/shared_result.h"
#include "preparation.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

/// Judged by this visit and all earlier ones, as the published decision will be.
std::vector<std::size_t> unsoaked_winners(const CellContext& context) {
  std::vector<Measurement> measurements(context.earlier.begin(), context.earlier.end());
  for (const Trial& trial : context.trials) measurements.push_back(context.measurement_of(trial));
  // Whether ranks were kept waiting too long is known only at the end of the sweep.
  DecisionPolicy policy = context.plan.decision;
  policy.most_kept_waiting.reset();
  std::set<std::size_t> winners;
  for (const Decision& decision : decide(measurements, policy, {}))
    for (std::size_t i = 0; i < context.trials.size(); ++i) {
      const Trial& trial = context.trials[i];
      if (!context.soaked->contains(trial.name) && !trial.planned->is_twin &&
          trial.planned->variant == decision.ranked.front().variant)
        winners.insert(i);
    }
  return {winners.begin(), winners.end()};
}

/// Verified runs on data that changes from run to run.
void run_chunk(CellContext& context, Trial& trial, std::int64_t runs) {
  const ActivityScope scope(context.activities, Activity::verification);
  const RunLimits limits = context.limits_of(trial);
  World& world = context.world;
  bool may_call = true;
  for (std::int64_t run = 0; run < runs; ++run, ++trial.runs) {
    context.enter_run(name_of(Activity::verification), trial, limits);
    if (!world.is_member()) continue;
    const CellData::Check check{.pattern = DataPattern::exact,
                                .seed = static_cast<int>(trial.runs % 2),
                                .rounding = trial.planned->rounding};
    const RunInput input = trial.data->arm(check, InputMode::rewritten, 1);
    const Deadline deadline = start_together(*world.starts, input, limits);
    if (!may_call) continue;
    if (auto fault =
            catch_fault([&] { (void)time_calls(*trial.operation, 1, deadline, input.bindings); })) {
      trial.fault = std::move(fault);
      may_call = false;
      (void)trial.data->inspect_guards();
    } else if (auto wrong = context.inspect_run(trial, check); wrong && !trial.fault) {
      trial.fault = std::move(wrong);
    }
  }
}

void soak_trial(CellContext& context, Trial& trial, nanoseconds most, const AbortFlag& stop) {
  // Time between two votes: short compared with the time-outs, long compared with a vote.
  constexpr nanoseconds chunk_target = std::chrono::milliseconds(50);
  const Soak& soak = context.plan.soak;
  const nanoseconds time = most.count() > 0 ? std::min(most, soak.time) : soak.time;
  const auto begin = Clock::now();
  std::int64_t done = 0;
  for (std::int64_t chunk = 1; chunk > 0;) {
    run_chunk(context, trial, chunk);
    done += chunk;
    // One reduction shares the trial's severity and how many runs rank 0 wants next.
    std::array<std::int64_t, 2> brought{severity_of(trial), 0};
    Trial* const one = &trial;
    bool has_ended = false;
    {
      const ActivityScope scope(context.activities, Activity::control);
      context.enter_control();
      const nanoseconds spent = Clock::now() - begin;
      const auto runs_left = static_cast<std::int64_t>(soak.runs) - done;
      if (context.control.rank() == 0 && !stop.is_raised() && spent < time && runs_left > 0) {
        const nanoseconds each = std::max(nanoseconds(1), spent / done);
        brought[1] =
            std::clamp<std::int64_t>(std::min(chunk_target, time - spent) / each, 1, runs_left);
      }
      context.control.all_reduce_max(brought);
      has_ended =
          end_faulty_trials(context.control, std::span(&one, 1), std::span(brought).first(1));
    }
    if (has_ended) {
      context.bury(std::span(&one, 1));
      (void)renew_lost(context);
      if (!trial.is_alive()) return;
      done -= chunk;
      continue;
    }
    trial.verified_calls += static_cast<std::uint64_t>(chunk);
    chunk = brought[1];
  }
}

}  // namespace

void soak_winners(CellContext& context, nanoseconds most, const AbortFlag& stop) {
  if (context.plan.soak.runs == 0 || context.plan.soak.time.count() == 0) return;
  for (;;) {
    const auto winners = [&] {
      const ActivityScope scope(context.activities, Activity::control);
      context.enter_control();
      return share_result<std::vector<std::size_t>>(context.control,
                                                    [&] { return unsoaked_winners(context); });
    }();
    if (winners.empty()) return;
    for (const std::size_t winner : winners) {
      context.soaked->insert(context.trials[winner].name);
      soak_trial(context, context.trials[winner], most, stop);
    }
  }
}

}  // namespace colltune
