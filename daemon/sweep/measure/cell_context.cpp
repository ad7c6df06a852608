// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "cell_context.h"

#include <fmt/format.h>

#include <algorithm>

#include "activity_clock.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;

// A rank that is slower than the slowest of a run keeps the others waiting at the next start for at
// most one call's limit, plus the time that the others need to notice.
constexpr int barrier_limits = 3;
// A rank's own waits give up at the call limit, then the ranks vote; a watchdog must wait longer
// than that.
constexpr nanoseconds watchdog_air = std::chrono::seconds(1);

}  // namespace

std::vector<Trial*> CellContext::alive() {
  std::vector<Trial*> found;
  for (Trial& trial : trials)
    if (trial.is_alive()) found.push_back(&trial);
  return found;
}

std::vector<Trial*> CellContext::racing() {
  std::vector<Trial*> found;
  for (Trial& trial : trials)
    if (trial.is_alive() && !trial.has_left) found.push_back(&trial);
  return found;
}

RunLimits CellContext::limits_of(const Trial& trial) const {
  const nanoseconds call = std::max(policy.call_limit_floor, trial.planned->call_limit);
  return {.calls = 1, .call_limit = call, .barrier_limit = barrier_limits * call};
}

Measurement CellContext::measurement_of(const Trial& trial) const {
  const PlannedVariant& planned = *trial.planned;
  return {.key = cell.key,
          .variant = planned.variant,
          .family = planned.family,
          .protocol = planned.protocol,
          .is_baseline = planned.is_baseline,
          .is_twin = planned.is_twin,
          .is_holdout = cell.is_holdout,
          .is_emulated = planned.is_emulated,
          .pass = pass,
          .outcome = trial.outcome,
          .detail = trial.detail,
          .samples = trial.samples,
          .slowest_ranks = trial.slowest_ranks,
          .marks = std::ranges::all_of(trial.marks, [](int mark) { return mark == 0; })
                       ? std::vector<int>{}
                       : trial.marks,
          .samples_per_round = trial.samples_per_round,
          .calls_per_sample = calls_per_sample,
          .ranks_ran = trial.ranks_ran,
          .ranks_failed = trial.ranks_failed,
          .verified_calls = trial.verified_calls,
          .seed = seed,
          .synchronization = start.synchronization,
          .rounding = planned.rounding,
          .numeric_class = planned.numeric_class,
          .limits = planned.limits,
          .conditions = trial.conditions};
}

void CellContext::enter(std::string_view activity, const Trial& trial, nanoseconds limit) const {
  if (recorder == nullptr) return;
  recorder->enter({.activity = activity,
                   .key_digest = key_digest,
                   .variant = trial.name,
                   .cell = index,
                   .run = trial.runs,
                   .limit = limit});
}

void CellContext::enter_run(std::string_view activity, const Trial& trial,
                            const RunLimits& limits) const {
  enter(activity, trial, (limits.calls + barrier_limits) * limits.call_limit + watchdog_air);
}

nanoseconds CellContext::control_limit() const {
  nanoseconds longest = preparation_limits * policy.call_limit_floor;
  for (const Trial& trial : trials)
    longest = std::max(longest, (calls_per_sample + barrier_limits) * limits_of(trial).call_limit);
  return longest + 2 * watchdog_air;
}

void CellContext::enter_control() const {
  if (recorder == nullptr) return;
  // Members come from the same step, which has a limit. A rank beyond the world waits for a whole
  // round.
  recorder->enter({.activity = name_of(Activity::control),
                   .cell = index,
                   .limit = world.is_member() ? control_limit() : nanoseconds{}});
}

void CellContext::enter_preparation(const Trial& trial) const {
  enter(name_of(Activity::preparation), trial, preparation_limits * policy.call_limit_floor);
}

bool CellContext::vote_on(std::span<Trial* const> voted) {
  bool has_ended = false;
  {
    const ActivityScope scope(activities, Activity::control);
    enter_control();
    has_ended = vote(control, voted);
  }
  if (has_ended) bury(voted);
  return has_ended;
}

void CellContext::bury(std::span<Trial* const> voted) {
  const ActivityScope scope(activities, Activity::preparation);
  for (Trial* trial : voted) {
    if (trial->is_alive()) continue;
    enter_preparation(*trial);
    trial->operation.reset();
  }
}

std::optional<Fault> CellContext::inspect_run(const Trial& trial, const CellData::Check& check) {
  auto fault = trial.data->inspect(check);
  if (fault) fault->message += fmt::format(" (run {} of this variant)", trial.runs);
  return fault;
}

}  // namespace colltune
