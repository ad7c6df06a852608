// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "batch.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "colltune/sweep/clock/run_timer.h"
#include "colltune/sweep/clock/starter.h"

namespace colltune {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

namespace {

/// How long the calls took, measured from the common start if there is one: the clock was read
/// there and is not read again. Empty if a call failed; the trial then has its fault.
std::optional<nanoseconds> call(Trial& trial, int times, const RunInput& input, const Start& start,
                                Synchronization synchronization) {
  try {
    const nanoseconds duration =
        synchronization == Synchronization::window
            ? end_of_calls(*trial.operation, times, start.deadline, input.bindings) - start.common
            : time_calls(*trial.operation, times, start.deadline, input.bindings).duration();
    if (const auto by_device = trial.operation->device_time()) {
      trial.seen.device += *by_device;
      trial.seen.timed_device += duration / times;
      ++trial.seen.device_calls;
    }
    return duration;
  } catch (...) {
    trial.fault = catch_fault([] { throw; });
    return {};
  }
}

}  // namespace

void run_batch(CellContext& context, Trial& trial, const Batch& batch) {
  World& world = context.world;
  RunLimits limits = context.limits_of(trial);
  limits.calls = context.calls_per_sample;
  CellData::Check check = other_data;
  check.rounding = trial.planned->rounding;
  RunWatch watch(world.is_member() && !world.starts->is_oversubscribed());
  bool may_call = true;
  for (int run = -batch.takeover; run < std::ssize(batch.packed); ++run, ++trial.runs) {
    context.enter_run(batch.activity, trial, limits);
    if (!world.is_member()) continue;
    const bool is_counted = run >= 0;
    const bool is_inspected = is_counted && run == batch.inspected;
    if (is_inspected) watch.close(trial.seen);
    const RunInput input = is_inspected
                               ? trial.data->arm(check, context.plan.input_mode, limits.calls)
                               : trial.data->run_input(context.plan.input_mode, limits.calls);
    if (is_inspected) watch.open();
    const auto run_begin = Clock::now();
    watch.begin();
    const Start start = start_run(*world.starts, input, limits, context.start, world.clock, watch);
    // A rank whose call failed still takes part in every start and end, so that the ranks stay in
    // step.
    if (may_call) {
      if (const auto duration =
              call(trial, limits.calls, input, start, context.start.synchronization)) {
        const int marks = watch.end(context.start.watch, *duration, trial.seen) +
                          (start.is_late ? static_cast<int>(RunMark::late) : 0);
        if (is_counted) {
          batch.marks[static_cast<std::size_t>(run)] = marks;
          batch.packed[static_cast<std::size_t>(run)] =
              pack_duration(std::max(*duration, nanoseconds(1)), world.starts->rank());
        }
      } else {
        may_call = false;
      }
    }
    end_run(*world.starts, limits, context.start);
    if (!may_call) continue;
    trial.run_cost = std::min<nanoseconds>(trial.run_cost, Clock::now() - run_begin);
    if (!is_inspected) continue;
    watch.close(trial.seen);
    const auto begin = Clock::now();
    // A wrong result ends the trial at the next vote; until then the other ranks need this rank's
    // calls.
    trial.fault = context.inspect_run(trial, check);
    const nanoseconds spent = Clock::now() - begin;
    context.activities[Activity::batch] -= spent;
    context.activities[Activity::verification] += spent;
    watch.open();
  }
  if (!world.is_member()) return;
  watch.close(trial.seen);
  // Read right after the calls, because an idle device lowers its clocks.
  if (const Device* const device = world.starts->device())
    if (const auto state = device->state())
      trial.seen.device_state = worst_of(*state, trial.seen.device_state.value_or(*state));
  if (auto stray = trial.data->inspect_guards(); stray && !trial.fault)
    trial.fault = std::move(stray);
}

}  // namespace colltune
