// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "cell_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "colltune/kernels/catalogue.h"
#include "colltune/sweep/run_timer.h"
#include "colltune/sweep/statistics.h"
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
// A variant this much slower than the fastest needs no narrow interval.
constexpr double hopeless = 1.10;

std::vector<double> as_ns(const std::vector<nanoseconds>& samples) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const nanoseconds sample : samples) values.push_back(static_cast<double>(sample.count()));
  return values;
}

}  // namespace

CellRun::CellRun(const Setting& setting, const Cell& cell, World& world)
    : setting_(setting), cell_(cell), world_(world), trials_(cell.variants.size()) {}

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

void CellRun::vote_on(std::span<Trial* const> trials) {
  const PhaseScope scope(setting_.phases, Phase::control);
  vote(setting_.control, trials);
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
    trials_[i].implementation =
        find_implementation(implementations, cell_.variants[i].variant.implementation);
  }
  if (world_.is_member()) make_data(largest_message);
  vote_on(alive());  // a rank without buffers must not leave the others alone in prepare
  for (Trial* trial : alive()) {
    if (world_.is_member()) prepare_trial(*trial);
    vote_on(std::span(&trial, 1));
    // Where only some ranks threw, the next prepare would meet a communicator out of step.
    if (!trial->is_alive()) world_.renew_operations();
  }
}

void CellRun::verify(Trial& trial, const CellData::Check& check) {
  if (world_.is_member()) {
    const PhaseScope scope(setting_.phases, Phase::verification);
    CellData::Check own = check;
    own.rounding = trial.planned->rounding;
    trial.fault = data_->verify(*world_.starts, trial.operation.get(), own, limits_of(trial));
  }
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
  for (Trial* trial : alive()) verify(*trial, {.pattern = DataPattern::exact, .seed = 1});
}

void CellRun::run_batch(Trial& trial, int runs, std::vector<std::int64_t>& packed,
                        std::size_t first) {
  Communicator& world = *world_.starts;
  RunLimits limits = limits_of(trial);
  limits.calls = calls_per_sample_;
  const RunInput input = data_->run_input();
  for (int run = 0; run < runs; ++run) {
    // A rank whose call failed still comes to every start: the ranks stay in step.
    const Deadline deadline = start_together(world, input, limits);
    if (trial.fault) continue;
    nanoseconds duration{};
    try {
      duration = time_calls(*trial.operation, limits.calls, deadline);
    } catch (...) {
      trial.fault = catch_fault([] { throw; });
    }
    packed[first + static_cast<std::size_t>(run)] = pack_duration(duration, world.rank());
  }
}

void CellRun::warm_up(nanoseconds time_left) {
  const auto trials = alive();
  const int runs = setting_.policy.warm_up_runs;
  std::vector<std::int64_t> packed(trials.size() * static_cast<std::size_t>(runs));
  const auto begin = Clock::now();
  if (world_.is_member()) {
    const PhaseScope scope(setting_.phases, Phase::warm_up);
    for (std::size_t i = 0; i < trials.size(); ++i)
      run_batch(*trials[i], runs, packed, i * static_cast<std::size_t>(runs));
  }
  const double round_ns = static_cast<double>((Clock::now() - begin).count()) / runs;
  vote_on(trials);

  const PhaseScope scope(setting_.phases, Phase::control);
  setting_.control.all_reduce_max(packed);
  const auto schedule = share_json(setting_.control, [&] {
    const MeasurePolicy& policy = setting_.policy;
    nlohmann::json chosen = {{"calls", 1}, {"samples", 1}};
    std::size_t first = 0;  // the baseline, or who stands in for it
    while (first < trials.size() && !trials[first]->is_alive()) ++first;
    if (first == trials.size()) return chosen;
    // The last of the warm-up runs: the first ones still touch memory for the first time.
    const auto last = (first + 1) * static_cast<std::size_t>(runs) - 1;
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

void CellRun::run_round(int round) {
  const auto trials = alive();
  const auto runs = static_cast<std::size_t>(samples_per_round_);
  std::vector<std::int64_t> packed(trials.size() * runs);
  std::vector<std::int64_t> counts(2 * trials.size());  // ran, failed
  if (world_.is_member()) {
    const PhaseScope scope(setting_.phases, Phase::batch);
    for (const std::size_t i : round_order(trials.size(), setting_.plan.seed, round)) {
      run_batch(*trials[i], samples_per_round_, packed, i * runs);
      counts[2 * i] = trials[i]->fault ? 0 : 1;
      counts[2 * i + 1] = trials[i]->fault ? 1 : 0;
    }
  }
  {
    const PhaseScope scope(setting_.phases, Phase::control);
    setting_.control.all_reduce_max(packed);
    setting_.control.all_reduce_sum(counts);
  }
  const bool any_failed = [&] {
    for (std::size_t i = 0; i < trials.size(); ++i)
      if (counts[2 * i + 1] > 0) return true;
    return false;
  }();
  if (any_failed) vote_on(trials);
  if (setting_.control.rank() == 0) take_samples(trials, packed, counts);
}

void CellRun::take_samples(const std::vector<Trial*>& trials,
                           const std::vector<std::int64_t>& packed,
                           std::span<const std::int64_t> counts) {
  const auto runs = static_cast<std::size_t>(samples_per_round_);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    Trial& trial = *trials[i];
    trial.ranks_ran = static_cast<int>(counts[2 * i]);
    if (!trial.is_alive() || trial.ranks_ran == 0) continue;
    for (std::size_t run = i * runs; run < (i + 1) * runs; ++run) {
      trial.samples.push_back(unpack_duration(packed[run]));
      trial.slowest_ranks.push_back(unpack_rank(packed[run]));
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
  next_check_ = policy.min_rounds;
  while (!alive().empty()) {
    run_round(rounds_++);
    const PhaseScope scope(setting_.phases, Phase::control);
    const bool is_enough = share_json(setting_.control, [&] {
                             if (stop.is_raised() || rounds_ >= policy.max_rounds) return true;
                             if (has_end && Clock::now() >= end_at) return true;
                             if (rounds_ < next_check_) return false;
                             // Intervals narrow with the square root: looking again after every
                             // round would only cost time.
                             next_check_ = rounds_ + std::max(1, rounds_ / 4);
                             return is_precise();
                           }).get<bool>();
    if (is_enough) break;
  }
}

std::vector<Measurement> CellRun::finish() {
  const PhaseScope scope(setting_.phases, Phase::preparation);
  std::vector<Measurement> measurements;
  for (Trial& trial : trials_) {
    trial.operation.reset();
    world_.is_suspect = world_.is_suspect || !trial.is_alive();
    if (setting_.control.rank() != 0) continue;
    const PlannedVariant& planned = *trial.planned;
    measurements.push_back({.key = cell_.key,
                            .variant = planned.variant,
                            .family = planned.family,
                            .protocol = planned.protocol,
                            .is_baseline = planned.is_baseline,
                            .is_emulated = planned.is_emulated,
                            .outcome = trial.outcome,
                            .detail = std::move(trial.detail),
                            .samples = std::move(trial.samples),
                            .slowest_ranks = std::move(trial.slowest_ranks),
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
                            .limits = planned.limits});
  }
  world_.retired.clear();
  return measurements;
}

}  // namespace colltune
