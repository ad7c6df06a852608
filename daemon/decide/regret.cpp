// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/regret.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "colltune/decide/decide.h"
#include "colltune/decide/noise.h"
#include "colltune/decide/rounds.h"
#include "colltune/decide/statistics.h"
#include "ranked_candidate.h"

namespace colltune {
namespace {

/// The ratios of two variants in their common rounds, by pass.
using PassRatios = std::map<int, std::vector<double>>;

/// What a launch shows about a variant.
struct Known {
  PassRounds rounds;
  PassRatios over_baseline;  ///< 1 for the baseline itself; not empty
};
struct Speedups {
  std::map<Variant, Known> variants;
  PassWeights weights;
};

/// How much faster `one` is than `other` in their common rounds. Passes and rounds differ, so only
/// common rounds can be compared.
PassRatios ratios_of(const Known& one, const Known& other) {
  return ratios_by_pass(other.rounds, one.rounds);
}

WeightedValue weighed(const PassRatios& passes, const PassWeights& weights) {
  return {.value = balanced_ratio(passes, weights), .weight = static_cast<double>(passes.size())};
}

bool have_same_passes(const PassRatios& one, const PassRatios& other) {
  return std::ranges::equal(one, other, {}, &PassRatios::value_type::first,
                            &PassRatios::value_type::first);
}

/// Each variant's speed-up on a scale on which `chosen` has its own speed-up. A variant with the
/// same passes as `chosen` is taken by its own ratios, any other one by the rounds that it shares
/// with `chosen`.
std::map<Variant, double> beside(const Speedups& speedups, const Known& chosen) {
  std::map<Variant, double> out;
  const PassWeights& weights = speedups.weights;
  for (const auto& [variant, known] : speedups.variants) {
    if (have_same_passes(known.over_baseline, chosen.over_baseline))
      out.emplace(variant, balanced_ratio(known.over_baseline, weights));
    else if (const PassRatios ratios = ratios_of(known, chosen); !ratios.empty())
      out.emplace(variant,
                  balanced_ratio(chosen.over_baseline, weights) * balanced_ratio(ratios, weights));
  }
  return out;
}

/// Speed-ups of the variants that share at least `least` of the baseline's rounds with it.
Speedups speedups_of(const Contest& contest, std::size_t (*least)(std::size_t rounds)) {
  std::vector<const RankedCandidate*> all;
  for (const RankedCandidate& candidate : contest.candidates) all.push_back(&candidate);
  const RankedCandidate* baseline = fastest_baseline(all);
  Speedups speedups{.variants = {}, .weights = contest.weights};
  if (baseline == nullptr) return speedups;
  const auto count = [](const PassRatios& by_pass) {
    std::size_t rounds = 0;
    for (const auto& [pass, ratios] : by_pass) rounds += ratios.size();
    return rounds;
  };
  const std::size_t rounds = count(ratios_by_pass(baseline->rounds, baseline->rounds));
  for (const RankedCandidate* candidate : all) {
    PassRatios by_pass = ratios_by_pass(baseline->rounds, candidate->rounds);
    if (by_pass.empty() || count(by_pass) < least(rounds)) continue;
    speedups.variants.emplace(
        candidate->measurement->variant,
        Known{.rounds = candidate->rounds, .over_baseline = std::move(by_pass)});
  }
  return speedups;
}

/// A variant that ran in less than half of the rounds may look fast by chance.
std::size_t half_of_rounds(std::size_t rounds) { return (rounds + 1) / 2; }

/// Judges `choice` by `speedups`; empty if they lack the chosen variant.
std::optional<KeyRegret> judge_choice(KeyRegret choice, const std::map<Variant, double>& speedups) {
  const auto chosen = speedups.find(choice.chosen);
  if (chosen == speedups.end()) return std::nullopt;
  const auto best =
      std::ranges::max_element(speedups, {}, &std::map<Variant, double>::value_type::second);
  choice.best = best->second > chosen->second ? best->first : choice.chosen;
  choice.chosen_speedup = chosen->second;
  choice.best_speedup = best->second;
  choice.regret = best->second / chosen->second - 1;
  return choice;
}

/// The same for one launch.
std::optional<KeyRegret> judge_choice(KeyRegret choice, const Speedups& speedups) {
  const auto chosen = speedups.variants.find(choice.chosen);
  if (chosen == speedups.variants.end()) return std::nullopt;
  return judge_choice(std::move(choice), beside(speedups, chosen->second));
}

void add(Regret& regret, std::optional<KeyRegret> judged) {
  if (judged)
    regret.keys.push_back(*std::move(judged));
  else
    ++regret.not_judged;
}

Regret summarise(Regret regret) {
  if (regret.keys.empty()) return regret;
  constexpr double tolerated = 0.05;
  double chosen = 0;
  double best = 0;
  double within = 0;
  for (const KeyRegret& key : regret.keys) {
    chosen += std::log(key.chosen_speedup);
    best += std::log(key.best_speedup);
    within += key.regret <= tolerated ? 1 : 0;
  }
  const auto count = static_cast<double>(regret.keys.size());
  regret.chosen_speedup = std::exp(chosen / count);
  regret.best_speedup = std::exp(best / count);
  regret.within_five_percent = within / count;
  return regret;
}

KeyRegret choice_of(const Decision& decision, const std::string& sweep_uuid) {
  return {.key = decision.key,
          .sweep_uuid = sweep_uuid,
          .verdict = decision.verdict,
          .chosen = decision.ranked.front().variant};
}

/// Whether a choice can be compared with a baseline over all families.
bool can_be_judged(const Decision& decision) {
  return decision.family == any_family && decision.verdict != Verdict::no_baseline;
}

/// The same trials, but samples of the other half of each pass's rounds do not count.
std::vector<Measurement> half_of(std::span<const Measurement> measurements, int half) {
  std::vector<Measurement> out(measurements.begin(), measurements.end());
  for (Measurement& trial : out) {
    trial.marks.resize(trial.samples.size(), 0);
    for (std::size_t i = 0; i < trial.samples.size(); ++i)
      if (static_cast<int>(i) / std::max(1, trial.samples_per_round) % 2 != half)
        trial.marks[i] |= static_cast<int>(RunMark::gap);
  }
  return out;
}

/// Includes variants that left the rounds early, because leaving shows that the variant is slow in
/// that launch.
std::size_t few_rounds(std::size_t rounds) { return std::min<std::size_t>(rounds, 3); }

/// Speed-ups of the variants that ran in half of the rounds, and always of `chosen`. Otherwise
/// choices that left the rounds early, because they are slow, would not be judged.
Speedups speedups_with(const Contest& contest, const Variant& chosen) {
  Speedups speedups = speedups_of(contest, half_of_rounds);
  const Speedups all = speedups_of(contest, few_rounds);
  if (const auto found = all.variants.find(chosen); found != all.variants.end())
    speedups.variants.insert(*found);
  return speedups;
}

/// What one quiet launch shows for each key; keys that were not quiet are left out.
std::map<TuningKey, Speedups> quiet_speedups(const Launch& launch, double steal_limit) {
  std::map<TuningKey, std::vector<const Measurement*>> cells;
  for (const Measurement& trial : launch.measurements) cells[trial.key].push_back(&trial);
  std::map<TuningKey, Speedups> out;
  for (const auto& [key, contest] : contests_of(launch.measurements, false, 0.95))
    if (steal_of(cells.at(key)) < steal_limit) out.emplace(key, speedups_of(contest, few_rounds));
  return out;
}

/// Pools speed-ups over launches. The chosen variant's is the median of its speed-ups. Another
/// variant's is that median times the median of its ratios to the chosen one in the same rounds of
/// a launch. Medians over different sets of launches cannot be compared: launches differ in kind
/// (two cores may or may not share a cache), and a variant leaves the rounds early exactly in
/// launches where it is slow. A launch weighs as many as the passes that it contributes. Otherwise
/// a variant that stopped after a few unlucky passes would count as if it were that slow in all of
/// them. Only variants known from half of the launches are included.
std::map<Variant, double> pool(const std::vector<const Speedups*>& launches,
                               const Variant& chosen) {
  std::vector<WeightedValue> of_chosen;
  std::map<Variant, std::vector<WeightedValue>> to_chosen;
  for (const Speedups* launch : launches) {
    const auto reference = launch->variants.find(chosen);
    if (reference == launch->variants.end()) continue;
    of_chosen.push_back(weighed(reference->second.over_baseline, launch->weights));
    for (const auto& [variant, known] : launch->variants)
      if (const PassRatios ratios = ratios_of(known, reference->second); !ratios.empty())
        to_chosen[variant].push_back(weighed(ratios, launch->weights));
  }
  std::map<Variant, double> pooled;
  for (const auto& [variant, ratios] : to_chosen)
    if (ratios.size() * 2 >= launches.size())
      pooled.emplace(variant, weighted_median(of_chosen) * weighted_median(ratios));
  return pooled;
}

}  // namespace

Regret without_undecided(const Regret& regret) {
  Regret decided{.keys = {}, .not_judged = regret.not_judged};
  for (const KeyRegret& key : regret.keys)
    if (key.verdict != Verdict::undecided) decided.keys.push_back(key);
  return summarise(std::move(decided));
}

Regret cross_fitted_regret(std::span<const Measurement> measurements,
                           const DecisionPolicy& policy) {
  Regret regret;
  for (const int half : {0, 1}) {
    const auto choosing = half_of(measurements, half);
    const auto judging = half_of(measurements, 1 - half);
    const auto contests = contests_of(judging, false, policy.confidence);
    for (const Decision& decision : decide(choosing, policy, {}))
      if (can_be_judged(decision))
        add(regret, judge_choice(choice_of(decision, {}),
                                 speedups_of(contests.at(decision.key), half_of_rounds)));
  }
  std::ranges::stable_sort(regret.keys, {}, &KeyRegret::key);
  return summarise(std::move(regret));
}

Regret pooled_regret(std::span<const Launch> launches, double steal_limit) {
  std::vector<std::map<TuningKey, Speedups>> known;
  for (const Launch& launch : launches) known.push_back(quiet_speedups(launch, steal_limit));
  Regret regret;
  for (std::size_t chooser = 0; chooser < launches.size(); ++chooser)
    for (const Decision& decision : launches[chooser].decisions) {
      if (!can_be_judged(decision)) continue;
      std::vector<const Speedups*> others;
      for (std::size_t judge = 0; judge < launches.size(); ++judge)
        if (const auto found = known[judge].find(decision.key);
            judge != chooser && found != known[judge].end())
          others.push_back(&found->second);
      add(regret, judge_choice(choice_of(decision, launches[chooser].sweep_uuid),
                               pool(others, decision.ranked.front().variant)));
    }
  return summarise(std::move(regret));
}

Regret held_out_regret(std::span<const Measurement> measurements,
                       std::span<const HeldOutAnswer> answers) {
  const auto contests = contests_of(measurements, true, 0.95);
  Regret regret;
  for (const HeldOutAnswer& answer : answers) {
    const auto found = contests.find(answer.key);
    add(regret,
        found == contests.end()
            ? std::nullopt
            : judge_choice({.key = answer.key, .verdict = answer.verdict, .chosen = answer.chosen},
                           speedups_with(found->second, answer.chosen)));
  }
  return summarise(std::move(regret));
}

}  // namespace colltune
