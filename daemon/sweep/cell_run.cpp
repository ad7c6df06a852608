// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "cell_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "colltune/decide/decide.h"
#include "colltune/decide/statistics.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/sweep/run_timer.h"
#include "colltune/vocabulary/canonical.h"
#include "phase_clock.h"
#include "round_order.h"
#include "shared_result.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

// A slower rank than the slowest of a run waits at the next start for at most one call's limit,
// plus what the others need to notice.
constexpr int barrier_limits = 3;
// A clock step within a sample stays below this share of it.
constexpr double clock_share = 0.01;
// Preparing and destroying may register memory and set up connections: a minute where calls get the
// ten seconds that are the default, less where the user expects less.
constexpr int preparation_limits = 6;
// Own waits give up at the call limit, then the ranks vote: a watchdog waits longer than that.
constexpr nanoseconds watchdog_air = std::chrono::seconds(1);
// A variant this much slower than the fastest needs no narrow interval.
constexpr double hopeless = 1.10;

std::vector<double> as_ns(const std::vector<nanoseconds>& samples) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const nanoseconds sample : samples) values.push_back(static_cast<double>(sample.count()));
  return values;
}

// Exact data under two seeds: a result left from the run before is wrong.
constexpr CellData::Check other_data{.pattern = DataPattern::exact, .seed = 1};

nanoseconds step_limit(const RunLimits& limits, std::int64_t calls) {
  return (calls + barrier_limits) * limits.call_limit + watchdog_air;
}

}  // namespace

CellRun::CellRun(const Setting& setting, const Cell& cell, World& world)
    : setting_(setting),
      cell_(cell),
      world_(world),
      trials_(cell.variants.size()),
      key_digest_(digest_of_value(cell.key)) {}

std::vector<Trial*> CellRun::alive() {
  std::vector<Trial*> found;
  for (Trial& trial : trials_)
    if (trial.is_alive()) found.push_back(&trial);
  return found;
}

RunLimits CellRun::limits_of(const Trial& trial) const {
  const nanoseconds call = std::max(setting_.policy.call_limit_floor, trial.planned->call_limit);
  return {.calls = 1, .call_limit = call, .barrier_limit = barrier_limits * call};
}

void CellRun::enter(std::string_view phase, const Trial& trial, nanoseconds limit) const {
  if (setting_.recorder == nullptr) return;
  setting_.recorder->enter({.phase = phase,
                            .key_digest = key_digest_,
                            .variant = trial.name,
                            .cell = setting_.cell,
                            .run = trial.runs,
                            .limit = limit});
}

void CellRun::enter_control() const {
  if (setting_.recorder != nullptr)
    setting_.recorder->enter({.phase = name_of(Phase::control), .cell = setting_.cell});
}

void CellRun::vote_on(std::span<Trial* const> trials) {
  bool has_ended = false;
  {
    const PhaseScope scope(setting_.phases, Phase::control);
    enter_control();
    has_ended = vote(setting_.control, trials);
  }
  if (has_ended) bury(trials);
}

nanoseconds CellRun::preparation_limit() const {
  return preparation_limits * setting_.policy.call_limit_floor;
}

void CellRun::bury(std::span<Trial* const> trials) {
  const PhaseScope scope(setting_.phases, Phase::preparation);
  for (Trial* trial : trials) {
    if (trial->is_alive()) continue;
    enter(name_of(Phase::preparation), *trial, preparation_limit());
    trial->operation.reset();
  }
}

void World::renew_operations() {
  retired.push_back(std::move(operations));
  operations = split();
}

void CellRun::make_data(Bytes largest_message) {
  const PhaseScope scope(setting_.phases, Phase::preparation);
  const auto no_buffers = catch_fault([&] {
    const Problem& problem = cell_.key.problem;
    const Deadline deadline = Clock::now() + limits_of(trials_.front()).call_limit;
    data_.emplace(problem, *world_.starts,
                  problem.registered
                      ? world_.arena.registered(*world_.starts, largest_message, deadline)
                      : world_.arena.plain(largest_message));
  });
  for (Trial& trial : trials_) trial.fault = no_buffers;
}

void CellRun::prepare_trial(Trial& trial) {
  const PhaseScope scope(setting_.phases, Phase::preparation);
  trial.fault = catch_fault([&] {
    const Variant& variant = trial.planned->variant;
    if (trial.implementation == nullptr)
      throw Error(StatusCode::not_found,
                  "this rank's build has no implementation " + variant.implementation);
    trial.operation = trial.implementation->prepare(*world_.operations, data_->call(), variant,
                                                    Clock::now() + limits_of(trial).call_limit);
  });
}

void CellRun::prepare(const Implementations& implementations, Bytes largest_message) {
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    trials_[i].planned = &cell_.variants[i];
    trials_[i].name = to_string(cell_.variants[i].variant);
    trials_[i].implementation =
        find_implementation(implementations, cell_.variants[i].variant.implementation);
  }
  enter(name_of(Phase::preparation), trials_.front(), preparation_limit());
  if (world_.is_member()) make_data(largest_message);
  vote_on(alive());  // a rank without buffers must not leave the others alone in prepare
  for (Trial* trial : alive()) {
    enter(name_of(Phase::preparation), *trial, preparation_limit());
    if (world_.is_member()) prepare_trial(*trial);
    vote_on(std::span(&trial, 1));
    // Where only some ranks threw, the next prepare would meet a communicator out of step.
    if (!trial->is_alive()) world_.renew_operations();
  }
}

std::optional<Fault> CellRun::inspect_run(const Trial& trial, const CellData::Check& check) {
  auto fault = data_->inspect(check);
  if (fault) fault->message += fmt::format(" (run {} of this variant)", trial.runs);
  return fault;
}

void CellRun::verify(Trial& trial, const CellData::Check& check) {
  const RunLimits limits = limits_of(trial);
  enter(name_of(Phase::verification), trial, step_limit(limits, 1));
  if (world_.is_member()) {
    const PhaseScope scope(setting_.phases, Phase::verification);
    CellData::Check own = check;
    own.rounding = trial.planned->rounding;
    const Deadline deadline = start_together(*world_.starts, data_->arm(own), limits);
    trial.fault = catch_fault([&] { (void)time_calls(*trial.operation, 1, deadline); });
    if (trial.fault)
      (void)data_->inspect_guards();
    else
      trial.fault = inspect_run(trial, own);
  }
  ++trial.runs;
  Trial* const one = &trial;
  vote_on(std::span(&one, 1));
  if (trial.is_alive()) ++trial.verified_calls;
}

void CellRun::verify_first() {
  const bool has_rounding = is_meaningful({.problem = cell_.key.problem,
                                           .ranks = cell_.key.topology.ranks,
                                           .pattern = DataPattern::rounding});
  for (Trial* trial : alive()) {
    verify(*trial, {.pattern = DataPattern::exact});
    if (has_rounding && trial->is_alive()) verify(*trial, {.pattern = DataPattern::rounding});
  }
}

void CellRun::verify_last() {
  for (Trial* trial : alive()) verify(*trial, other_data);
}

void CellRun::run_batch(Trial& trial, const Batch& batch) {
  RunLimits limits = limits_of(trial);
  limits.calls = calls_per_sample_;
  CellData::Check check = other_data;
  check.rounding = trial.planned->rounding;
  bool may_call = true;
  for (int run = 0; run < batch.runs; ++run, ++trial.runs) {
    enter(batch.phase, trial, step_limit(limits, limits.calls));
    if (!world_.is_member()) continue;
    // A rank whose call failed still comes to every start: the ranks stay in step.
    const bool is_inspected = run == batch.inspected;
    const RunInput input = is_inspected ? data_->arm(check) : data_->run_input();
    const Deadline deadline = start_together(*world_.starts, input, limits);
    if (!may_call) continue;
    nanoseconds duration{};
    try {
      duration = time_calls(*trial.operation, limits.calls, deadline);
    } catch (...) {
      trial.fault = catch_fault([] { throw; });
      may_call = false;
    }
    batch.packed[static_cast<std::size_t>(run)] = pack_duration(duration, world_.starts->rank());
    if (!is_inspected || !may_call) continue;
    const auto begin = Clock::now();
    // A wrong result ends the trial at the vote; until then the others need this rank's calls.
    trial.fault = inspect_run(trial, check);
    const nanoseconds spent = Clock::now() - begin;
    setting_.phases[Phase::batch] -= spent;
    setting_.phases[Phase::verification] += spent;
  }
  if (!world_.is_member()) return;
  if (auto stray = data_->inspect_guards(); stray && !trial.fault) trial.fault = std::move(stray);
}

void CellRun::warm_up(nanoseconds time_left) {
  const auto trials = alive();
  const auto runs = static_cast<std::size_t>(setting_.policy.warm_up_runs);
  std::vector<std::int64_t> packed(trials.size() * runs);
  const auto begin = Clock::now();
  {
    const PhaseScope scope(setting_.phases, Phase::warm_up);
    for (std::size_t i = 0; i < trials.size(); ++i)
      run_batch(*trials[i], {.phase = name_of(Phase::warm_up),
                             .runs = setting_.policy.warm_up_runs,
                             .packed = std::span(packed).subspan(i * runs, runs)});
  }
  const double round_ns =
      static_cast<double>((Clock::now() - begin).count()) / static_cast<double>(runs);
  vote_on(trials);

  const PhaseScope scope(setting_.phases, Phase::control);
  enter_control();
  setting_.control.all_reduce_max(packed);
  const auto schedule = share_json(setting_.control, [&] {
    const MeasurePolicy& policy = setting_.policy;
    nlohmann::json chosen = {{"calls", 1}, {"samples", 1}};
    std::size_t first = 0;  // the baseline, or who stands in for it
    while (first < trials.size() && !trials[first]->is_alive()) ++first;
    if (first == trials.size()) return chosen;
    // The last of the warm-up runs: the first ones still touch memory for the first time.
    const auto last = (first + 1) * runs - 1;
    const double call_ns =
        std::max<double>(1, static_cast<double>(unpack_duration(packed[last]).count()));
    const double step_ns = static_cast<double>(clock_resolution().count());
    const int calls = static_cast<int>(std::clamp(std::ceil(step_ns / clock_share / call_ns), 1.0,
                                                  double(policy.max_calls_per_sample)));
    double target = static_cast<double>(policy.round_target.count());
    if (time_left.count() > 0)
      target = std::min(target, static_cast<double>(time_left.count()) / policy.min_rounds);
    const double samples = target / std::max(1.0, round_ns * (calls + 1) / 2);
    chosen["calls"] = calls;
    chosen["samples"] =
        static_cast<int>(std::clamp(samples, 1.0, double(policy.max_samples_per_round)));
    return chosen;
  });
  calls_per_sample_ = schedule.at("calls").get<int>();
  samples_per_round_ = schedule.at("samples").get<int>();
}

bool CellRun::may_inspect_timed_runs() const {
  // In place, a second call works on the result of the first.
  return !cell_.key.problem.in_place || calls_per_sample_ == 1;
}

bool CellRun::run_round(int round, const std::function<bool()>& is_enough) {
  const auto trials = alive();
  const auto runs = static_cast<std::size_t>(samples_per_round_);
  // One reduction for all: times, then each trial's severity, then rank 0's word that this was the
  // last round.
  std::vector<std::int64_t> brought(trials.size() * runs + trials.size() + 1);
  const std::span times = std::span(brought).first(trials.size() * runs);
  const std::span severities = std::span(brought).subspan(times.size(), trials.size());
  {
    const PhaseScope scope(setting_.phases, Phase::batch);
    for (const std::size_t i : round_order(trials.size(), setting_.plan.seed, round))
      run_batch(*trials[i],
                {.phase = name_of(Phase::batch),
                 .runs = samples_per_round_,
                 .inspected = may_inspect_timed_runs()
                                  ? choose_run(samples_per_round_, setting_.plan.seed, round, i)
                                  : -1,
                 .packed = times.subspan(i * runs, runs)});
  }
  bool has_ended = false;
  {
    const PhaseScope scope(setting_.phases, Phase::control);
    enter_control();
    for (std::size_t i = 0; i < trials.size(); ++i) severities[i] = severity_of(*trials[i]);
    if (setting_.control.rank() == 0) brought.back() = is_enough() ? 1 : 0;
    setting_.control.all_reduce_max(brought);
    has_ended = settle(setting_.control, trials, severities);
    if (setting_.control.rank() == 0) take_samples(trials, times);
  }
  if (has_ended) bury(trials);
  return brought.back() != 0;
}

void CellRun::take_samples(const std::vector<Trial*>& trials,
                           std::span<const std::int64_t> packed) {
  const auto runs = static_cast<std::size_t>(samples_per_round_);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    Trial& trial = *trials[i];
    if (!trial.is_alive()) continue;
    // No rank has a fault: every rank of the world ran, or would have thrown.
    trial.ranks_ran = cell_.key.topology.ranks;
    trial.verified_calls += may_inspect_timed_runs() ? 1 : 0;
    for (const std::int64_t time : packed.subspan(i * runs, runs)) {
      trial.samples.push_back(unpack_duration(time));
      trial.slowest_ranks.push_back(unpack_rank(time));
    }
  }
}

bool CellRun::is_precise() const {
  std::vector<MedianInterval> intervals;
  double fastest = std::numeric_limits<double>::infinity();
  for (const Trial& trial : trials_) {
    if (!trial.is_alive() || trial.samples.empty()) continue;
    intervals.push_back(median_interval(as_ns(trial.samples), setting_.policy.confidence));
    fastest = std::min(fastest, intervals.back().high);
  }
  return std::ranges::all_of(intervals, [&](const MedianInterval& interval) {
    const double half_width = (interval.high - interval.low) / 2;
    return half_width <= setting_.plan.precision * interval.median ||
           interval.low > hopeless * fastest;
  });
}

void CellRun::measure(Clock::time_point end_at, bool has_end, const AbortFlag& stop) {
  const MeasurePolicy& policy = setting_.policy;
  // Asked on rank 0 before a round's times are reduced: it judges those of the rounds before.
  int next_check = policy.min_rounds;
  const auto is_enough = [&] {
    if (stop.is_raised() || rounds_ >= policy.max_rounds) return true;
    if (has_end && Clock::now() >= end_at) return true;
    if (rounds_ < next_check || rounds_ < 2) return false;
    // Intervals narrow with the square root: looking again after every round would only cost time.
    next_check = rounds_ + std::max(1, rounds_ / 4);
    return is_precise();
  };
  while (!alive().empty())
    if (run_round(rounds_++, is_enough)) break;
}

Measurement CellRun::measurement_of(const Trial& trial) const {
  const PlannedVariant& planned = *trial.planned;
  return {.key = cell_.key,
          .variant = planned.variant,
          .family = planned.family,
          .protocol = planned.protocol,
          .is_baseline = planned.is_baseline,
          .is_twin = planned.is_twin,
          .is_emulated = planned.is_emulated,
          .outcome = trial.outcome,
          .detail = trial.detail,
          .samples = trial.samples,
          .slowest_ranks = trial.slowest_ranks,
          .samples_per_round = samples_per_round_,
          .calls_per_sample = calls_per_sample_,
          .ranks_ran = trial.ranks_ran,
          .ranks_failed = trial.ranks_failed,
          .verified_calls = trial.verified_calls,
          .seed = setting_.plan.seed,
          .input_mode = InputMode::rewritten,
          .synchronization = Synchronization::barrier,
          .rounding = planned.rounding,
          .numeric_class = planned.numeric_class,
          .limits = planned.limits};
}

std::vector<std::size_t> CellRun::unsoaked_winners() const {
  std::vector<Measurement> measurements;
  for (const Trial& trial : trials_) measurements.push_back(measurement_of(trial));
  std::set<std::size_t> winners;
  for (const Decision& decision : decide(measurements, {}, {}))
    for (std::size_t i = 0; i < trials_.size(); ++i)
      if (!trials_[i].is_soaked && !trials_[i].planned->is_twin &&
          trials_[i].planned->variant == decision.ranked.front().variant)
        winners.insert(i);
  return {winners.begin(), winners.end()};
}

void CellRun::soak_trial(Trial& trial, const AbortFlag& stop) {
  // Between two votes: short beside the time-outs, long beside a vote.
  constexpr nanoseconds chunk_target = std::chrono::milliseconds(50);
  const Soak& soak = setting_.plan.soak;
  const RunLimits limits = limits_of(trial);
  const auto begin = Clock::now();
  std::int64_t done = 0;
  for (std::int64_t chunk = 1; chunk > 0;) {
    {
      const PhaseScope scope(setting_.phases, Phase::verification);
      bool may_call = true;
      for (std::int64_t run = 0; run < chunk; ++run, ++trial.runs) {
        enter(name_of(Phase::verification), trial, step_limit(limits, 1));
        if (!world_.is_member()) continue;
        const CellData::Check check{.pattern = DataPattern::exact,
                                    .seed = static_cast<int>(trial.runs % 2),
                                    .rounding = trial.planned->rounding};
        const Deadline deadline = start_together(*world_.starts, data_->arm(check), limits);
        if (!may_call) continue;
        if (auto fault = catch_fault([&] { (void)time_calls(*trial.operation, 1, deadline); })) {
          trial.fault = std::move(fault);
          may_call = false;
          (void)data_->inspect_guards();
        } else if (auto wrong = inspect_run(trial, check); wrong && !trial.fault) {
          trial.fault = std::move(wrong);
        }
      }
    }
    done += chunk;
    // One reduction: the trial's severity, and how many runs rank 0 wants next.
    std::array<std::int64_t, 2> brought{severity_of(trial), 0};
    Trial* const one = &trial;
    bool has_ended = false;
    {
      const PhaseScope scope(setting_.phases, Phase::control);
      enter_control();
      const nanoseconds spent = Clock::now() - begin;
      const auto runs_left = static_cast<std::int64_t>(soak.runs) - done;
      if (setting_.control.rank() == 0 && !stop.is_raised() && spent < soak.time && runs_left > 0) {
        const nanoseconds each = std::max(nanoseconds(1), spent / done);
        brought[1] = std::clamp<std::int64_t>(std::min(chunk_target, soak.time - spent) / each, 1,
                                              runs_left);
      }
      setting_.control.all_reduce_max(brought);
      has_ended = settle(setting_.control, std::span(&one, 1), std::span(brought).first(1));
    }
    if (has_ended) return bury(std::span(&one, 1));
    trial.verified_calls += static_cast<std::uint64_t>(chunk);
    chunk = brought[1];
  }
}

void CellRun::soak(const AbortFlag& stop) {
  if (setting_.plan.soak.runs == 0 || setting_.plan.soak.time.count() == 0) return;
  for (;;) {
    const auto winners = [&] {
      const PhaseScope scope(setting_.phases, Phase::control);
      enter_control();
      return share_json(setting_.control, [&] { return nlohmann::json(unsoaked_winners()); })
          .get<std::vector<std::size_t>>();
    }();
    if (winners.empty()) return;
    for (const std::size_t winner : winners) {
      trials_[winner].is_soaked = true;
      soak_trial(trials_[winner], stop);
    }
  }
}

std::vector<Measurement> CellRun::finish() {
  const PhaseScope scope(setting_.phases, Phase::preparation);
  std::vector<Measurement> measurements;
  for (Trial& trial : trials_) {
    enter(name_of(Phase::preparation), trial, preparation_limit());
    trial.operation.reset();
    world_.is_suspect = world_.is_suspect || !trial.is_alive();
    if (setting_.control.rank() == 0) measurements.push_back(measurement_of(trial));
  }
  world_.retired.clear();
  return measurements;
}

}  // namespace colltune
