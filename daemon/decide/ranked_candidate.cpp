// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "ranked_candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>

#include "colltune/decide/machine_states.h"
#include "colltune/decide/noise.h"
#include "colltune/decide/trials.h"
#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// One trial in each of its passes, by pass.
using Passes = std::map<int, const Measurement*>;

bool may_rank(const Passes& passes) {
  bool has_samples = false;
  std::uint64_t verified_calls = 0;
  for (const auto& [pass, measurement] : passes) {
    if (!is_credited(*measurement)) return false;
    has_samples = has_samples || !measurement->samples.empty();
    verified_calls += measurement->verified_calls;
  }
  const Measurement& first = *passes.begin()->second;
  return has_samples && verified_calls > 0 &&
         first.numeric_class >= first.key.problem.numeric_class;
}

/// The values of each pass, scaled so that a pass weighs as much as the longest one, times its own
/// weight.
std::vector<WeightedValue> balance(const PassRounds& passes, const PassWeights& weights) {
  std::size_t longest = 0;
  for (const auto& [pass, values] : passes) longest = std::max(longest, values.size());
  std::vector<WeightedValue> balanced;
  for (const auto& [pass, values] : passes)
    for (const double value : values)
      balanced.push_back({.value = value,
                          .weight = weight_of(pass, weights).weight * static_cast<double>(longest) /
                                    static_cast<double>(values.size())});
  return balanced;
}

RankedCandidate to_ranked_candidate(const Passes& passes, const PassWeights& weights,
                                    double confidence) {
  RankedCandidate candidate{.measurement = passes.begin()->second};
  PassRounds rounds;
  PassRounds samples;
  std::vector<const Measurement*> trials;
  for (const auto& [pass, measurement] : passes) {
    candidate.verified_calls += measurement->verified_calls;
    trials.push_back(measurement);
    const auto& medians = candidate.rounds.emplace(pass, round_medians(*measurement)).first->second;
    std::ranges::copy_if(medians, std::back_inserter(rounds[pass]),
                         [](double value) { return !std::isnan(value); });
    auto& of_pass = samples[pass];
    for (std::size_t i = 0; i < measurement->samples.size(); ++i) {
      candidate.samples += counts(*measurement, i) ? 1 : 0;
      of_pass.push_back(static_cast<double>(measurement->samples[i].count()) /
                        measurement->calls_per_sample);
    }
  }
  auto values = balance(rounds, weights);
  if (values.empty()) values = balance(samples, weights);
  candidate.per_call = median_interval(std::move(values), confidence);
  candidate.waited = waited_in_counted(trials);
  return candidate;
}

/// The trials of one key, each with all its passes.
std::map<TrialName, Passes> merge_passes(std::span<const Measurement* const> measurements) {
  std::map<TrialName, Passes> trials;
  for (const Measurement* one : measurements)
    if (!trials[name_of_trial(*one)].emplace(one->pass, one).second)
      throw Error(StatusCode::invalid_argument,
                  fmt::format("decide: the trial {} of {} on {} occurs twice in pass {}; give the "
                              "measurements of one sweep",
                              to_string(one->variant), describe(one->key.problem),
                              describe(one->key.topology), one->pass));
  return trials;
}

/// What all measurements of a world together show about it.
struct WorldFacts {
  double load = -1;
  MachineStates states;
};

std::map<Topology, WorldFacts> facts_by_world(std::span<const Measurement> measurements) {
  std::map<Topology, std::vector<const Measurement*>> worlds;
  for (const Measurement& one : measurements) worlds[one.key.topology].push_back(&one);
  std::map<Topology, WorldFacts> facts;
  for (const auto& [topology, of_world] : worlds)
    facts.emplace(topology, WorldFacts{kept_waiting_of(of_world), MachineStates(of_world)});
  return facts;
}

}  // namespace

std::size_t Contest::rivals() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      candidates, [](const RankedCandidate& one) { return !one.measurement->is_baseline; }));
}

bool Contest::is_loaded(const DecisionPolicy& policy) const {
  return policy.most_kept_waiting && load > *policy.most_kept_waiting;
}

Duel Contest::duel(const RankedCandidate& reference, const RankedCandidate& rival, double risk,
                   const DecisionPolicy& policy) const {
  Duel duel = fight_in_passes(reference.rounds, rival.rounds, risk, weights);
  return is_loaded(policy) ? widened(std::move(duel), reference.waited, rival.waited) : duel;
}

Duel Contest::twin_duel(const RankedCandidate& baseline, double risk,
                        const DecisionPolicy& policy) const {
  for (const RankedCandidate& twin : twins)
    if (twin.measurement->variant == baseline.measurement->variant)
      return duel(baseline, twin, risk, policy);
  return {};
}

std::map<TuningKey, Contest> contests_of(std::span<const Measurement> measurements, bool is_holdout,
                                         double confidence) {
  std::map<TuningKey, std::vector<const Measurement*>> by_key;
  for (const Measurement& measurement : measurements)
    if (measurement.is_holdout == is_holdout) by_key[measurement.key].push_back(&measurement);
  const auto worlds = facts_by_world(measurements);
  std::map<TuningKey, Contest> contests;
  for (const auto& [key, of_key] : by_key) {
    const WorldFacts& world = worlds.at(key.topology);
    Contest contest{.weights = world.states.weights_of(of_key),
                    .load = std::max(kept_waiting_of(of_key), world.load)};
    for (const auto& [name, passes] : merge_passes(of_key))
      if (may_rank(passes))
        (name.is_twin ? contest.twins : contest.candidates)
            .push_back(to_ranked_candidate(passes, contest.weights, confidence));
    std::ranges::sort(contest.candidates, [](const RankedCandidate& a, const RankedCandidate& b) {
      return is_simpler(*a.measurement, *b.measurement);
    });
    if (!contest.candidates.empty()) contests.emplace(key, std::move(contest));
  }
  return contests;
}

bool is_simpler(const Measurement& a, const Measurement& b) {
  const auto order = [](const Measurement& one) {
    return std::tuple(!one.is_baseline, -static_cast<int>(one.numeric_class), one.rounding,
                      one.is_emulated, !parts_named_by(one.variant).empty(),
                      one.variant.parameters.size());
  };
  const auto of_a = order(a);
  const auto of_b = order(b);
  return of_a != of_b ? of_a < of_b : a.variant < b.variant;
}

const RankedCandidate* fastest_baseline(std::span<const RankedCandidate* const> candidates) {
  const RankedCandidate* fastest = nullptr;
  for (const RankedCandidate* candidate : candidates)
    if (candidate->measurement->is_baseline &&
        (fastest == nullptr || candidate->per_call.median < fastest->per_call.median))
      fastest = candidate;
  return fastest;
}

}  // namespace colltune
