// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "cell_run.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "batch.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/sweep/clock/run_timer.h"
#include "colltune/vocabulary/canonical.h"
#include "executed.h"
#include "phase_clock.h"
#include "preparation.h"
#include "soak.h"

namespace colltune {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

CellRun::CellRun(const Setting& setting, const Cell& cell, World& world)
    : context_{.control = setting.control,
               .plan = setting.plan,
               .policy = setting.policy,
               .phases = setting.phases,
               .implementations = setting.implementations,
               .recorder = setting.recorder,
               .index = setting.cell,
               .pass = setting.pass,
               // Another order in each pass.
               .seed = setting.plan.seed + static_cast<std::uint64_t>(setting.pass),
               .earlier = setting.earlier,
               .soaked = setting.soaked,
               .cell = cell,
               .world = world,
               .key_digest = digest_of_value(cell.key),
               .trials = std::vector<Trial>(cell.variants.size()),
               .data = {},
               .start = {}},
      rounds_(context_),
      core_(read_own_core_state()) {}

BufferArena::Regions CellRun::regions_for(BufferSource* source, Bytes largest_message) {
  World& world = context_.world;
  if (Device* const device = world.starts->device())
    return world.arena.on(*device, source, largest_message,
                          context_.plan.input_mode == InputMode::rotating);
  if (!context_.cell.key.problem.registered) return world.arena.plain(largest_message);
  return world.arena.registered(
      *world.starts, largest_message,
      Clock::now() + context_.limits_of(context_.trials.front()).call_limit);
}

void CellRun::make_data(Trial& trial, Bytes largest_message) {
  const PhaseScope scope(context_.phases, Phase::preparation);
  trial.fault = catch_fault([&] {
    const auto* const implementation =
        find_implementation(context_.implementations, trial.planned->variant.implementation);
    BufferSource* const source =
        implementation == nullptr ? nullptr : implementation->buffer_source();
    auto known = context_.data.find(source);
    if (known == context_.data.end())
      known = context_.data
                  .try_emplace(source, context_.cell.key.problem, *context_.world.starts,
                               regions_for(source, largest_message))
                  .first;
    trial.data = &known->second;
  });
}

void CellRun::prepare(Bytes largest_message) {
  auto& trials = context_.trials;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    trials[i].planned = &context_.cell.variants[i];
    trials[i].name = to_string(context_.cell.variants[i].variant);
  }
  context_.enter_preparation(trials.front());
  if (context_.world.is_member())
    for (Trial& trial : trials) make_data(trial, largest_message);
  // A rank without buffers must not leave the others alone in prepare.
  context_.vote_on(context_.alive());
  for (Trial* trial : context_.alive()) prepare_together(context_, *trial);
  // Who hung in its preparation may have taken others with it.
  if (context_.alive().size() < trials.size()) (void)renew_lost(context_);
}

void CellRun::verify(Trial& trial, const CellData::Check& check) {
  const RunLimits limits = context_.limits_of(trial);
  context_.enter_run(name_of(Phase::verification), trial, limits);
  if (context_.world.is_member()) {
    const PhaseScope scope(context_.phases, Phase::verification);
    CellData::Check own = check;
    own.rounding = trial.planned->rounding;
    const Deadline deadline =
        start_together(*context_.world.starts, trial.data->arm(own, InputMode::rewritten), limits);
    trial.fault = catch_fault([&] { (void)time_calls(*trial.operation, 1, deadline); });
    if (trial.fault)
      (void)trial.data->inspect_guards();
    else
      trial.fault = context_.inspect_run(trial, own);
  }
  ++trial.runs;
}

void CellRun::verify_all(const CellData::Check& check) {
  for (auto trials = context_.alive(); !trials.empty();) {
    // One vote for all: a vote for each would be most of a small cell's time.
    for (Trial* trial : trials) verify(*trial, check);
    std::vector<Trial*> renewed;
    if (context_.vote_on(trials)) renewed = renew_lost(context_);
    for (Trial* trial : trials)
      if (trial->is_alive() && !std::ranges::count(renewed, trial)) ++trial->verified_calls;
    trials = std::move(renewed);
  }
}

void CellRun::verify_first() {
  verify_all({.pattern = DataPattern::exact});
  if (is_meaningful({.problem = context_.cell.key.problem,
                     .ranks = context_.cell.key.topology.ranks,
                     .pattern = DataPattern::rounding}))
    verify_all({.pattern = DataPattern::rounding});
}

void CellRun::verify_last() {
  verify_all(other_data);
  share_executed(context_);
}

void CellRun::warm_up(nanoseconds time_left) { rounds_.warm_up(time_left); }

void CellRun::measure(const RoundsEnd& end) {
  rounds_.run(end);
  bound_drift();
}

void CellRun::bound_drift() {
  World& world = context_.world;
  if (context_.start.synchronization != Synchronization::window || !world.is_member() ||
      world.clock.is_one_clock)
    return;
  const PhaseScope scope(context_.phases, Phase::warm_up);
  const ClockOffset before = world.clock;
  const Deadline deadline =
      Clock::now() + clock_limit + context_.limits_of(context_.trials.front()).barrier_limit;
  world.clock = estimate_clock_offset(*world.starts, deadline);
  const nanoseconds drift = std::chrono::abs(world.clock.offset - before.offset);
  world.clock.error = nanoseconds(world.starts->all_reduce_max(
      (std::max(before.error, world.clock.error) + drift).count(), deadline));
}

void CellRun::soak(nanoseconds most, const AbortFlag& stop) {
  if (!context_.cell.is_holdout && context_.soaked != nullptr) soak_winners(context_, most, stop);
}

void CellRun::share_conditions() {
  // MAX over the ranks; shares in millionths, frequencies negated: the lowest counts.
  constexpr std::size_t first_throttle = 10;
  constexpr std::size_t per_trial = first_throttle + throttle_bits;
  constexpr double millionth = 1e-6;
  const auto to_share = [](nanoseconds part, nanoseconds whole) {
    return std::llround(static_cast<double>(part.count()) / static_cast<double>(whole.count()) /
                        millionth);
  };
  auto& trials = context_.trials;
  const World& world = context_.world;
  const bool is_watched = world.is_member() && !world.starts->is_oversubscribed();
  std::vector<std::int64_t> worst(per_trial * trials.size() + 3, -1);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Perturbation& seen = trials[i].seen;
    const auto words = std::span(worst).subspan(per_trial * i, per_trial);
    if (is_watched && seen.gaps.watched.count() > 0)
      words[0] = to_share(seen.gaps.lost, seen.gaps.watched);
    words[1] = seen.gaps.longest.count();
    words[2] = seen.involuntary_switches;
    words[3] = seen.page_faults;
    if (is_watched && seen.observed.count() > 0)
      words[4] = to_share(seen.kept_waiting, seen.observed);
    if (seen.timed_device.count() > 0) words[5] = to_share(seen.device, seen.timed_device);
    if (trials[i].communicators) words[6] = trials[i].communicators->count();
    if (seen.device_calls > 0) words[9] = (seen.device / seen.device_calls).count();
    words[7] = INT64_MIN;
    if (!seen.device_state) continue;
    if (seen.device_state->clock_khz > 0)
      words[7] = -static_cast<std::int64_t>(seen.device_state->clock_khz);
    words[8] = seen.device_state->power_state;
    for (std::size_t bit = 0; bit < throttle_bits; ++bit)
      words[first_throttle + bit] = seen.device_state->throttles >> bit & 1U;
  }
  const auto shared = std::span(worst).last(3);
  if (world.is_member()) {
    const CoreState core = read_own_core_state();
    // A rank that moved to another core compares unlike counters.
    shared[0] = core.throttle_events >= core_.throttle_events
                    ? static_cast<std::int64_t>(core.throttle_events - core_.throttle_events)
                    : 0;
    const std::uint64_t lowest = std::min(core.frequency_khz, core_.frequency_khz);
    shared[1] = lowest > 0 ? -static_cast<std::int64_t>(lowest) : INT64_MIN;
    shared[2] =
        context_.start.synchronization == Synchronization::window ? world.clock.error.count() : 0;
  } else {
    shared[1] = INT64_MIN;
  }
  {
    const PhaseScope scope(context_.phases, Phase::control);
    context_.enter_control();
    context_.control.all_reduce_max(worst);
  }
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto words = std::span(worst).subspan(per_trial * i, per_trial);
    const Conditions before = std::move(trials[i].conditions);
    trials[i].conditions = {
        .steal = words[0] < 0 ? -1 : static_cast<double>(words[0]) * millionth,
        .longest_gap = nanoseconds(std::max<std::int64_t>(0, words[1])),
        .involuntary_switches = static_cast<std::uint64_t>(std::max<std::int64_t>(0, words[2])),
        .page_faults = static_cast<std::uint64_t>(std::max<std::int64_t>(0, words[3])),
        .throttle_events = static_cast<std::uint64_t>(std::max<std::int64_t>(0, shared[0])),
        .lowest_frequency_khz = shared[1] == INT64_MIN ? 0
                                                       : static_cast<std::uint64_t>(
                                                             std::max<std::int64_t>(0, -shared[1])),
        .clock_error = nanoseconds(std::max<std::int64_t>(0, shared[2])),
        .executed = before.executed,
        .executed_instead = before.executed_instead};
    if (words[4] >= 0)
      trials[i].conditions.kept_waiting = static_cast<double>(words[4]) * millionth;
    trials[i].conditions.hand_over = rounds_.hand_over();
    if (words[5] >= 0)
      trials[i].conditions.device_share = static_cast<double>(words[5]) * millionth;
    if (words[9] >= 0) {
      trials[i].conditions.device_time = nanoseconds(words[9]);
      // A rank that came early waits in its kernel, or in the library's, for those that come late.
      trials[i].conditions.timed_by = context_.start.synchronization == Synchronization::window
                                          ? "host,from=common_start,late_ranks=inside"
                                          : "host,from=own_start,late_ranks=inside";
    }
    if (words[6] >= 0) trials[i].conditions.communicators = nanoseconds(words[6]);
    if (words[7] != INT64_MIN)
      trials[i].conditions.device_clock_khz = static_cast<std::uint64_t>(-words[7]);
    if (words[8] >= 0) trials[i].conditions.device_power_state = static_cast<int>(words[8]);
    std::uint32_t throttles = 0;
    for (std::size_t bit = 0; bit < throttle_bits; ++bit)
      if (words[first_throttle + bit] > 0) throttles |= 1U << bit;
    if (throttles != 0) trials[i].conditions.device_throttles = names_of_throttles(throttles);
    if (trials[i].renewals > 0)
      trials[i].conditions.renewals = static_cast<std::uint64_t>(trials[i].renewals);
  }
}

std::vector<Measurement> CellRun::finish() {
  share_conditions();
  const PhaseScope scope(context_.phases, Phase::preparation);
  std::vector<Measurement> measurements;
  for (Trial& trial : context_.trials) {
    context_.enter_preparation(trial);
    trial.operation.reset();
    context_.world.is_suspect =
        context_.world.is_suspect || !(trial.is_alive() || trial.has_kept_step);
    if (context_.control.rank() == 0) measurements.push_back(context_.measurement_of(trial));
  }
  context_.world.retired.clear();
  return measurements;
}

}  // namespace colltune
