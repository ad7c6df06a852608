// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "rounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "activity_clock.h"
#include "colltune/decide/statistics.h"
#include "colltune/sweep/clock/run_timer.h"
#include "control/extremes.h"
#include "control/shared_result.h"
#include "preparation.h"
#include "round_order.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

// A sample is long enough that one clock step is less than this share of it.
constexpr double clock_share = 0.01;
// Window starts need clocks that agree within this share of a call, or within this time.
constexpr double clock_error_share = 0.05;
constexpr nanoseconds clock_error_floor{50};
// If more runs than this are late in the warm-up, the ranks cannot meet a common start here.
constexpr double most_late = 0.25;

// Counts how many ranks gave a run each mark. MAX cannot combine bits like OR, but a sum over
// separate bit fields can.
constexpr int mark_bits = packed_rank_bits + 1;
constexpr std::array all_marks{RunMark::gap, RunMark::switched, RunMark::late};

std::int64_t to_fields(int marks) {
  std::int64_t fields = 0;
  for (std::size_t i = 0; i < all_marks.size(); ++i)
    if ((marks & static_cast<int>(all_marks[i])) != 0)
      fields |= std::int64_t{1} << (static_cast<int>(i) * mark_bits);
  return fields;
}

int from_fields(std::int64_t fields) {
  int marks = 0;
  for (std::size_t i = 0; i < all_marks.size(); ++i)
    if (((fields >> (static_cast<int>(i) * mark_bits)) & ((std::int64_t{1} << mark_bits) - 1)) != 0)
      marks |= static_cast<int>(all_marks[i]);
  return marks;
}

double ns_of(std::int64_t packed) { return static_cast<double>(unpack_duration(packed).count()); }

/// The expected cost of a run: the geometric mean of the cheapest and the mean of a few runs. By
/// the mean alone, a stall of some ms among runs of some us would make rounds far too short. By the
/// cheapest alone, rounds would be far too long where stalls are common.
nanoseconds expected_cost(nanoseconds cheapest, nanoseconds mean) {
  return nanoseconds(std::llround(std::sqrt(static_cast<double>(std::min(cheapest, mean).count()) *
                                            static_cast<double>(mean.count()))));
}

/// The fastest of a trial's warm-up runs: neither the first touch of its memory nor an interruption
/// makes a run shorter.
double fastest(std::span<const std::int64_t> packed) {
  return packed.empty() ? 0 : std::max(1.0, ns_of(std::ranges::min(packed)));
}

/// What the ranks share of a trial after a round, in addition to its times.
struct TrialNews {
  Highest has_marks;  ///< 1: a run of it is marked on some rank
  Highest leaves;     ///< 1: rank 0 lets the trial leave the race

  template <class Visit>
  void each_extreme(Visit visit) {
    visit(has_marks);
    visit(leaves);
  }
};

}  // namespace

int takeover_runs(const TuningKey& key, InputMode mode, nanoseconds call) {
  // Smaller messages lie in the nearest caches, whoever wrote them.
  constexpr Bytes smallest{32 << 10};
  constexpr std::size_t times_each_pair = 2;
  constexpr std::size_t most = 8;
  // Calls that are so long have buffers beyond the caches.
  constexpr nanoseconds longest = std::chrono::milliseconds(5);
  if (mode == InputMode::rotating || key.problem.message_size < smallest) return 0;
  const std::size_t pairs = PairLayout::of(key.problem.message_size, key.calling).count;
  return static_cast<int>(
      std::min<std::int64_t>(static_cast<std::int64_t>(std::min(most, times_each_pair * pairs)),
                             longest / std::max(call, nanoseconds(1))));
}

Rounds::Brought::Brought(std::vector<Trial*> of, const std::function<int(const Trial&)>& runs_of)
    : trials(std::move(of)) {
  std::size_t runs = 0;
  for (const Trial* trial : trials) {
    first.push_back(runs);
    runs += static_cast<std::size_t>(runs_of(*trial));
  }
  first.push_back(runs);
  packed.resize(runs);
  marks.resize(runs);
}

std::span<std::int64_t> Rounds::Brought::packed_of(std::size_t i) {
  return std::span(packed).subspan(first[i], first[i + 1] - first[i]);
}

std::span<int> Rounds::Brought::marks_of(std::size_t i) {
  return std::span(marks).subspan(first[i], first[i + 1] - first[i]);
}

bool Rounds::exchange(Brought& brought, bool is_last) {
  const auto& trials = brought.trials;
  const bool is_first = context_.control.rank() == 0;
  std::vector<std::int64_t> severities;
  std::vector<TrialNews> news(trials.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    severities.push_back(severity_of(*trials[i]));
    news[i].has_marks =
        std::ranges::any_of(brought.marks_of(i), [](int mark) { return mark != 0; });
    const auto index = static_cast<std::size_t>(trials[i] - context_.trials.data());
    if (is_first && index < race_.may_leave.size()) news[i].leaves = race_.may_leave[index];
  }
  Highest hand_over;
  hand_over = hand_over_;
  Highest ends;
  if (is_first) ends = is_last;

  bool has_ended = false;
  {
    const ActivityScope scope(context_.activities, Activity::control);
    context_.enter_control();
    ExtremesExchange exchange;
    exchange.add_highest(brought.packed);
    exchange.add_highest(severities);
    for (TrialNews& one : news) exchange.add(one);
    exchange.add(hand_over);
    exchange.add(ends);
    exchange.exchange(context_.control);
    std::vector<std::int64_t> fields;
    for (std::size_t i = 0; i < trials.size(); ++i)
      if (news[i].has_marks.value_or(0) != 0)
        for (const int mark : brought.marks_of(i)) fields.push_back(to_fields(mark));
    if (!fields.empty()) context_.control.all_reduce_sum(fields);
    auto next = fields.begin();
    for (std::size_t i = 0; i < trials.size(); ++i)
      if (news[i].has_marks.value_or(0) != 0)
        for (int& mark : brought.marks_of(i)) mark = from_fields(*next++);
    has_ended = end_faulty_trials(context_.control, trials, severities);
  }
  if (const auto took = hand_over.value_or(0); took > 0)
    hand_overs_.push_back(static_cast<double>(took));
  if (has_ended) context_.bury(trials);
  has_renewed_ = has_ended && !renew_lost(context_).empty();
  for (std::size_t i = 0; i < trials.size(); ++i)
    trials[i]->has_left = news[i].leaves.value_or(0) != 0;
  return ends.value_or(0) != 0;
}

StartPolicy Rounds::first_start() {
  StartPolicy start{.watch = context_.policy.watch, .lead = context_.world.lead};
  World& world = context_.world;
  if (world.is_member() && StartBarrier::is_defined_on(*world.starts)) {
    if (world.start_barrier == nullptr)
      world.start_barrier =
          std::make_unique<StartBarrier>(*world.starts, Clock::now() + clock_limit);
    start.barrier = world.start_barrier.get();
  }
  start.ends_together =
      ends_together(context_.plan.input_mode, context_.cell.key.problem.message_size,
                    world.is_member() && world.starts->is_oversubscribed());
  if (!world.is_member() || world.starts->is_oversubscribed() || world.starts->size() == 1 ||
      context_.plan.synchronization == Synchronization::barrier)
    return start;
  const ActivityScope scope(context_.activities, Activity::warm_up);
  const Deadline deadline =
      Clock::now() + clock_limit + context_.limits_of(context_.trials.front()).barrier_limit;
  // Ranks that read one clock keep doing so; other clocks drift.
  if (!world.clock.is_one_clock) world.clock = estimate_clock_offset(*world.starts, deadline);
  if (world.longest_lead.count() == 0)
    world.longest_lead = find_longest_lead(*world.starts, deadline);
  start.synchronization = Synchronization::window;
  return start;
}

Rounds::Brought Rounds::run_untimed() {
  const auto alive = context_.alive();
  // The warm-up must use every slot once before the first round; in the first pass verified runs
  // count too.
  constexpr int verified_runs = 2;
  const int runs = context_.policy.warm_up_runs + (context_.pass == 0 ? 0 : verified_runs);
  const auto runs_of = [&](const Trial& trial) {
    return std::max(runs, trial.planned->learning_calls + 1);
  };
  Brought brought(alive, runs_of);
  {
    const ActivityScope scope(context_.activities, Activity::warm_up);
    for (std::size_t i = 0; i < alive.size(); ++i) {
      const auto begin = Clock::now();
      run_batch(context_, *alive[i],
                {.activity = name_of(Activity::warm_up),
                 .packed = brought.packed_of(i),
                 .marks = brought.marks_of(i)});
      alive[i]->run_cost =
          expected_cost(alive[i]->run_cost, (Clock::now() - begin) / runs_of(*alive[i]));
      alive[i]->seen = {};
    }
  }
  (void)exchange(brought, false);
  follow_late_runs(brought);
  return brought;
}

void Rounds::warm_up(nanoseconds time_left) {
  const auto alive = context_.alive();
  if (alive.empty()) return;
  context_.enter_run(name_of(Activity::warm_up), *alive.front(),
                     context_.limits_of(*alive.front()));
  context_.start = first_start();
  Brought brought = run_untimed();
  // If a trial was lost and prepared anew, the warm-up runs say nothing and are repeated.
  while (has_renewed_) brought = run_untimed();

  const ActivityScope scope(context_.activities, Activity::control);
  context_.enter_control();
  const auto sizes =
      share_result<RoundSizes>(context_.control, [&] { return choose_sizes(brought, time_left); });
  context_.calls_per_sample = sizes.calls;
  context_.start.synchronization =
      sizes.has_windows ? Synchronization::window : Synchronization::barrier;
  for (Trial& trial : context_.trials) {
    trial.samples_per_round = sizes.samples;
    trial.takeover_runs = sizes.takeover;
  }
  for (const std::size_t i : sizes.hopeless) {
    context_.trials[i].samples_per_round =
        std::min(sizes.samples, context_.policy.hopeless_samples);
    context_.trials[i].takeover_runs = 0;
  }
}

RoundSizes Rounds::choose_sizes(Brought& brought, nanoseconds time_left) const {
  const MeasurePolicy& policy = context_.policy;
  RoundSizes sizes;
  // The baseline, or the first live trial if the baseline has ended.
  std::size_t reference = 0;
  while (reference < brought.trials.size() && !brought.trials[reference]->is_alive()) ++reference;
  if (reference == brought.trials.size()) return sizes;
  const double call_ns = fastest(brought.packed_of(reference));
  const double step_ns = static_cast<double>(clock_resolution().count());
  sizes.calls = static_cast<int>(std::clamp(std::ceil(step_ns / clock_share / call_ns), 1.0,
                                            double(policy.max_calls_per_sample)));

  sizes.takeover = takeover_runs(context_.cell.key, context_.plan.input_mode,
                                 nanoseconds(std::llround(call_ns)));

  if (context_.start.synchronization == Synchronization::window) {
    const auto late = std::ranges::count_if(
        brought.marks, [](int mark) { return (mark & static_cast<int>(RunMark::late)) != 0; });
    const ClockOffset& clock = context_.world.clock;
    const bool is_exact =
        clock.is_one_clock || clock.error <= clock_error_floor ||
        static_cast<double>(clock.error.count()) < clock_error_share * call_ns * sizes.calls;
    const bool is_punctual =
        static_cast<double>(late) <= most_late * static_cast<double>(brought.marks.size());
    sizes.has_windows =
        context_.plan.synchronization == Synchronization::window || (is_exact && is_punctual);
  }

  // Treats the fastest runs as one round of a race: a variant that is several times slower is
  // hopeless.
  std::vector<double> once(context_.trials.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < brought.trials.size(); ++i)
    if (brought.trials[i]->is_alive())
      once[static_cast<std::size_t>(brought.trials[i] - context_.trials.data())] =
          fastest(brought.packed_of(i));
  std::vector<RacedTrial> raced;
  for (std::size_t i = 0; i < context_.trials.size(); ++i) {
    const PlannedVariant& planned = *context_.trials[i].planned;
    raced.push_back({.family = planned.family,
                     .is_baseline = planned.is_baseline,
                     .is_twin = planned.is_twin,
                     .round_medians = std::span(once).subspan(i, std::isnan(once[i]) ? 0 : 1)});
  }
  const RaceState race = judge_race(raced, context_.plan.decision);
  double round_ns = 0;
  for (std::size_t i = 0; i < context_.trials.size(); ++i) {
    if (!context_.trials[i].is_alive()) continue;
    if (race.may_leave[i])
      sizes.hopeless.push_back(i);
    else
      round_ns += static_cast<double>(context_.trials[i].run_cost.count());
  }
  double target = static_cast<double>(policy.round_target.count());
  if (time_left.count() > 0)
    target = std::min(target, static_cast<double>(time_left.count()) / policy.min_rounds);
  const double samples = target / std::max(1.0, round_ns * (sizes.calls + 1) / 2) - sizes.takeover;
  // Where most of a batch is takeover, some more samples cost little and make its median steadier.
  const double fewest = sizes.takeover > 0 ? std::min(3, policy.max_samples_per_round) : 1;
  sizes.samples =
      static_cast<int>(std::clamp(samples, fewest, double(policy.max_samples_per_round)));
  return sizes;
}

void Rounds::measure_hand_over() {
  const ActivityScope scope(context_.activities, Activity::warm_up);
  const Trial& any = context_.trials.front();
  const RunLimits limits = context_.limits_of(any);
  context_.enter_run(name_of(Activity::warm_up), any, limits);
  World& world = context_.world;
  if (!world.is_member() || !HandOverProbe::is_defined_on(*world.starts)) return;
  const Deadline deadline = Clock::now() + limits.barrier_limit;
  if (world.hand_over == nullptr)
    world.hand_over = std::make_unique<HandOverProbe>(*world.starts, deadline);
  hand_over_ = world.hand_over->measure(deadline).count();
}

std::optional<nanoseconds> Rounds::hand_over() const {
  if (hand_overs_.empty()) return std::nullopt;
  return nanoseconds(std::llround(median_of(hand_overs_)));
}

bool Rounds::may_inspect(int round) const {
  // Later visits are short, and verify once more at their end.
  if (context_.pass > 0 && round > 0) return false;
  // In place, a second call would work on the result of the first.
  return !context_.cell.key.problem.in_place || context_.calls_per_sample == 1;
}

bool Rounds::run_round(int round, const std::function<bool()>& is_enough) {
  Brought brought(context_.racing(), [](const Trial& trial) { return trial.samples_per_round; });
  const std::uint64_t seed = context_.seed;
  measure_hand_over();
  {
    const ActivityScope scope(context_.activities, Activity::batch);
    for (const std::size_t i : round_order(brought.trials.size(), seed, round)) {
      Trial& trial = *brought.trials[i];
      run_batch(context_, trial,
                {.activity = name_of(Activity::batch),
                 .takeover = trial.takeover_runs,
                 .inspected =
                     may_inspect(round) ? choose_run(trial.samples_per_round, seed, round, i) : -1,
                 .packed = brought.packed_of(i),
                 .marks = brought.marks_of(i)});
    }
  }
  const bool is_last = exchange(brought, context_.control.rank() == 0 ? is_enough() : false);
  follow_late_runs(brought);
  // A round in which a trial was lost counts for no trial, so that all trials keep the same
  // interleaved rounds. It is not the last round either.
  if (has_renewed_) return false;
  if (context_.control.rank() == 0) {
    const ActivityScope scope(context_.activities, Activity::control);
    take_samples(brought, may_inspect(round));
    if (!is_last && is_look(static_cast<std::size_t>(round) + 1)) race_ = judge();
  }
  return is_last;
}

void Rounds::follow_late_runs(const Brought& brought) {
  if (context_.start.synchronization != Synchronization::window) return;
  const auto late = std::ranges::count_if(
      brought.marks, [](int mark) { return (mark & static_cast<int>(RunMark::late)) != 0; });
  context_.world.lead =
      adapt_lead(context_.world.lead, static_cast<std::int64_t>(brought.marks.size()), late,
                 context_.world.longest_lead);
  context_.start.lead = context_.world.lead;
}

void Rounds::take_samples(Brought& brought, bool is_inspected) {
  for (std::size_t i = 0; i < brought.trials.size(); ++i) {
    Trial& trial = *brought.trials[i];
    if (!trial.is_alive()) continue;
    // No rank reported a fault, so every rank of the world ran; otherwise it would have thrown.
    trial.ranks_ran = context_.cell.key.topology.ranks;
    trial.verified_calls += is_inspected ? 1 : 0;
    std::vector<double> counted;
    const auto packed = brought.packed_of(i);
    for (std::size_t run = 0; run < packed.size(); ++run) {
      const int mark = brought.marks_of(i)[run];
      trial.samples.push_back(unpack_duration(packed[run]));
      trial.slowest_ranks.push_back(unpack_rank(packed[run]));
      trial.marks.push_back(mark);
      if (mark == 0) counted.push_back(ns_of(packed[run]) / context_.calls_per_sample);
    }
    trial.round_medians.push_back(counted.empty() ? std::numeric_limits<double>::quiet_NaN()
                                                  : median_of(counted));
  }
}

RaceState Rounds::judge() const {
  std::vector<RacedTrial> raced;
  for (const Trial& trial : context_.trials)
    raced.push_back({.family = trial.planned->family,
                     .is_baseline = trial.planned->is_baseline,
                     .is_twin = trial.planned->is_twin,
                     .round_medians = trial.round_medians});
  return judge_race(raced, context_.plan.decision);
}

bool Rounds::is_precise() const {
  // Collects the baselines and the leader of each family.
  std::map<std::string_view, MedianInterval> leaders;
  std::vector<MedianInterval> asked;
  for (const Trial& trial : context_.trials) {
    if (!trial.is_alive() || trial.planned->is_twin) continue;
    std::vector<double> medians;
    for (const double median : trial.round_medians)
      if (!std::isnan(median)) medians.push_back(median);
    // Rounds without a sample that counts say nothing, and the last round is not reduced yet. A
    // variant that left has fewer rounds, but cannot lead then.
    if (medians.empty()) {
      if (trial.planned->is_baseline) return false;
      continue;
    }
    const MedianInterval interval = median_interval(medians, context_.policy.confidence);
    const bool has_few = static_cast<int>(medians.size()) + 1 < context_.policy.min_rounds;
    if (trial.planned->is_baseline && has_few) return false;
    if (trial.planned->is_baseline) asked.push_back(interval);
    const auto [leader, is_first] = leaders.try_emplace(trial.planned->family, interval);
    if (!is_first && interval.median < leader->second.median) leader->second = interval;
  }
  for (const auto& [family, interval] : leaders) asked.push_back(interval);
  return !asked.empty() && std::ranges::all_of(asked, [&](const MedianInterval& interval) {
    return (interval.high - interval.low) / 2 <= context_.plan.precision * interval.median;
  });
}

void Rounds::run(const RoundsEnd& end) {
  const MeasurePolicy& policy = context_.policy;
  // Many short visits tell more than one long visit, because the machine's state changes between
  // them.
  const int most = context_.pass == 0
                       ? policy.max_rounds
                       : std::max(policy.min_rounds, policy.max_rounds / context_.plan.passes);
  // Rank 0 asks this before a round's times are reduced, so it judges the rounds before that one.
  const auto is_enough = [&] {
    if (end.stop.is_raised() || rounds_ >= most) return true;
    if (end.has_end && Clock::now() >= end.at) return true;
    return rounds_ >= policy.min_rounds && rounds_ >= 2 && race_.is_decided && is_precise();
  };
  while (!context_.racing().empty())
    if (run_round(rounds_++, is_enough)) break;
}

}  // namespace colltune
