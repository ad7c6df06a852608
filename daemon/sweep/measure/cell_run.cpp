// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "cell_run.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "activity_clock.h"
#include "batch.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/sweep/clock/run_timer.h"
#include "colltune/vocabulary/canonical.h"
#include "control/extremes.h"
#include "executed.h"
#include "preparation.h"
#include "soak.h"

namespace colltune {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

namespace {

/// What the ranks share of one trial's conditions; shares are in millionths.
struct TrialExtremes {
  Highest lost_share;
  Highest longest_gap_ns;
  Highest involuntary_switches;
  Highest page_faults;
  Highest kept_waiting_share;
  Highest device_share;
  Highest device_time_ns;
  Highest communicators_ns;
  Highest device_power_state;
  Lowest device_clock_khz;
  std::array<Highest, throttle_bits> throttles;

  template <class Visit>
  void each_extreme(Visit visit) {
    visit(lost_share);
    visit(longest_gap_ns);
    visit(involuntary_switches);
    visit(page_faults);
    visit(kept_waiting_share);
    visit(device_share);
    visit(device_time_ns);
    visit(communicators_ns);
    visit(device_power_state);
    visit(device_clock_khz);
    for (Highest& one : throttles) visit(one);
  }
};

/// What the ranks share of all trials of a cell together.
struct CellExtremes {
  Highest throttle_events;
  Highest clock_error_ns;
  Lowest frequency_khz;

  template <class Visit>
  void each_extreme(Visit visit) {
    visit(throttle_events);
    visit(clock_error_ns);
    visit(frequency_khz);
  }
};

constexpr double millionth = 1e-6;

std::int64_t share_of(nanoseconds part, nanoseconds whole) {
  return std::llround(static_cast<double>(part.count()) / static_cast<double>(whole.count()) /
                      millionth);
}

/// What this rank saw. With is_watched, its gaps and its waits for a core are meaningful.
TrialExtremes extremes_of(const Trial& trial, bool is_watched) {
  const Perturbation& seen = trial.seen;
  TrialExtremes own;
  if (is_watched && seen.gaps.watched.count() > 0)
    own.lost_share = share_of(seen.gaps.lost, seen.gaps.watched);
  own.longest_gap_ns = seen.gaps.longest.count();
  own.involuntary_switches = seen.involuntary_switches;
  own.page_faults = seen.page_faults;
  if (is_watched && seen.observed.count() > 0)
    own.kept_waiting_share = share_of(seen.kept_waiting, seen.observed);
  if (seen.timed_device.count() > 0) own.device_share = share_of(seen.device, seen.timed_device);
  if (seen.device_calls > 0) own.device_time_ns = (seen.device / seen.device_calls).count();
  if (trial.communicators) own.communicators_ns = trial.communicators->count();
  if (!seen.device_state) return own;
  if (seen.device_state->clock_khz > 0)
    own.device_clock_khz = static_cast<std::int64_t>(seen.device_state->clock_khz);
  own.device_power_state = seen.device_state->power_state;
  for (std::size_t bit = 0; bit < own.throttles.size(); ++bit)
    own.throttles[bit] = seen.device_state->throttles >> bit & 1U;
  return own;
}

/// What all ranks saw, in the form that is stored.
Conditions conditions_of(const TrialExtremes& trial, const CellExtremes& cell) {
  const auto number = [](const Extreme& one) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, one.value_or(0)));
  };
  const auto time = [](const Extreme& one) {
    return nanoseconds(std::max<std::int64_t>(0, one.value_or(0)));
  };
  const auto share = [](const Extreme& one) {
    return static_cast<double>(one.value_or(0)) * millionth;
  };
  Conditions conditions{.steal = trial.lost_share.value() ? share(trial.lost_share) : -1,
                        .longest_gap = time(trial.longest_gap_ns),
                        .involuntary_switches = number(trial.involuntary_switches),
                        .page_faults = number(trial.page_faults),
                        .throttle_events = number(cell.throttle_events),
                        .lowest_frequency_khz = number(cell.frequency_khz),
                        .clock_error = time(cell.clock_error_ns)};
  if (trial.kept_waiting_share.value()) conditions.kept_waiting = share(trial.kept_waiting_share);
  if (trial.device_share.value()) conditions.device_share = share(trial.device_share);
  if (trial.device_time_ns.value()) conditions.device_time = time(trial.device_time_ns);
  if (trial.communicators_ns.value()) conditions.communicators = time(trial.communicators_ns);
  if (trial.device_clock_khz.value()) conditions.device_clock_khz = number(trial.device_clock_khz);
  if (const auto state = trial.device_power_state.value(); state && *state >= 0)
    conditions.device_power_state = static_cast<int>(*state);
  std::uint32_t throttles = 0;
  for (std::size_t bit = 0; bit < trial.throttles.size(); ++bit)
    if (trial.throttles[bit].value_or(0) > 0) throttles |= 1U << bit;
  if (throttles != 0) conditions.device_throttles = names_of_throttles(throttles);
  return conditions;
}

}  // namespace

CellRun::CellRun(const VisitSetting& setting, const Cell& cell, World& world)
    : context_{setting,
               // Each pass uses another order.
               setting.plan.seed + static_cast<std::uint64_t>(setting.pass),
               cell,
               world,
               digest_of_value(cell.key),
               std::vector<Trial>(cell.variants.size()),
               {},
               1,
               {}},
      rounds_(context_),
      core_(read_own_core_state()) {}

BufferArena::Regions CellRun::regions_for(BufferSource* source, Bytes region) {
  World& world = context_.world;
  if (Device* const device = world.starts->device())
    return world.arena.on(*device, source, region, context_.plan.input_mode == InputMode::rotating);
  if (!context_.cell.key.problem.registered) return world.arena.plain(region);
  return world.arena.registered(
      *world.starts, region, Clock::now() + context_.limits_of(context_.trials.front()).call_limit);
}

void CellRun::make_data(Trial& trial, Bytes region) {
  const ActivityScope scope(context_.activities, Activity::preparation);
  trial.fault = catch_fault([&] {
    const auto* const implementation =
        find_implementation(context_.implementations, trial.planned->variant.implementation);
    BufferSource* const source =
        implementation == nullptr ? nullptr : implementation->facts().buffer_source;
    auto known = context_.data.find(source);
    if (known == context_.data.end())
      known = context_.data
                  .try_emplace(source, context_.cell.key.problem, context_.cell.key.calling,
                               *context_.world.starts, regions_for(source, region))
                  .first;
    trial.data = &known->second;
  });
}

void CellRun::prepare(Bytes region) {
  auto& trials = context_.trials;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    trials[i].planned = &context_.cell.variants[i];
    trials[i].name = to_string(context_.cell.variants[i].variant);
  }
  context_.enter_preparation(trials.front());
  if (context_.world.is_member())
    for (Trial& trial : trials) make_data(trial, region);
  // A vote, since a rank without buffers must not leave the others alone in prepare.
  context_.vote_on(context_.alive());
  prepare_all(context_);
  // A trial that hung in its preparation may have made others lose their operations.
  if (context_.alive().size() < trials.size()) (void)renew_lost(context_);
}

void CellRun::verify(Trial& trial, const CellData::Check& check) {
  const RunLimits limits = context_.limits_of(trial);
  context_.enter_run(name_of(Activity::verification), trial, limits);
  if (context_.world.is_member()) {
    const ActivityScope scope(context_.activities, Activity::verification);
    CellData::Check own = check;
    own.rounding = trial.planned->rounding;
    const RunInput input = trial.data->arm(own, InputMode::rewritten, 1);
    const Deadline deadline = start_together(*context_.world.starts, input, limits);
    trial.fault =
        catch_fault([&] { (void)time_calls(*trial.operation, 1, deadline, input.bindings); });
    if (trial.fault)
      (void)trial.data->inspect_guards();
    else
      trial.fault = context_.inspect_run(trial, own);
  }
  ++trial.runs;
}

void CellRun::verify_all(const CellData::Check& check) {
  for (auto trials = context_.alive(); !trials.empty();) {
    // One vote for all trials: a vote for each would take most of a small cell's time.
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
  const ActivityScope scope(context_.activities, Activity::warm_up);
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
  auto& trials = context_.trials;
  const World& world = context_.world;
  const bool is_watched = world.is_member() && !world.starts->is_oversubscribed();
  std::vector<TrialExtremes> of_trials;
  for (const Trial& trial : trials) of_trials.push_back(extremes_of(trial, is_watched));
  CellExtremes of_cell;
  if (world.is_member()) {
    const CoreState core = read_own_core_state();
    // If a rank moved to another core, the counters before and after are not comparable.
    of_cell.throttle_events =
        core.throttle_events >= core_.throttle_events
            ? static_cast<std::int64_t>(core.throttle_events - core_.throttle_events)
            : 0;
    if (const auto lowest = std::min(core.frequency_khz, core_.frequency_khz); lowest > 0)
      of_cell.frequency_khz = static_cast<std::int64_t>(lowest);
    if (context_.start.synchronization == Synchronization::window)
      of_cell.clock_error_ns = world.clock.error.count();
  }
  {
    const ActivityScope scope(context_.activities, Activity::control);
    context_.enter_control();
    ExtremesExchange exchange;
    for (TrialExtremes& one : of_trials) exchange.add(one);
    exchange.add(of_cell);
    exchange.exchange(context_.control);
  }
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Conditions before = std::move(trials[i].conditions);
    Conditions& conditions = trials[i].conditions;
    conditions = conditions_of(of_trials[i], of_cell);
    conditions.executed = before.executed;
    conditions.executed_instead = before.executed_instead;
    conditions.hand_over = rounds_.hand_over();
    // A rank that arrived early waits in its kernel, or in the library's, for the late ranks.
    if (conditions.device_time)
      conditions.timed_by = context_.start.synchronization == Synchronization::window
                                ? "host,from=common_start,late_ranks=inside"
                                : "host,from=own_start,late_ranks=inside";
    if (const TuningKey& key = context_.cell.key; key.calling == Calling::each)
      conditions.footprint =
          PairLayout::of(key.problem.message_size, key.calling).footprint().value;
    if (trials[i].renewals > 0)
      conditions.renewals = static_cast<std::uint64_t>(trials[i].renewals);
  }
}

std::vector<Measurement> CellRun::finish() {
  share_conditions();
  const ActivityScope scope(context_.activities, Activity::preparation);
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
