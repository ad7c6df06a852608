// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/curves.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "colltune/decide/machine_states.h"
#include "colltune/decide/rounds.h"
#include "colltune/decide/statistics.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

struct CurveName {
  TuningKey key;
  Variant variant;

  friend auto operator<=>(const CurveName&, const CurveName&) = default;
};

/// Of each pass of a trial its number and the median of the rounds that count.
using TrialPasses = std::vector<std::pair<int, double>>;

/// Over the passes, each with the weight of the machine state that it met. A mean, since times of
/// two states lie a factor apart: their median would be of the one state at one size and of the
/// other at the next.
double time_of(const TrialPasses& passes, const PassWeights& weights) {
  double logs = 0;
  double total = 0;
  for (const auto& [pass, median] : passes) {
    const double weight = weight_of(pass, weights).weight;
    logs += weight * std::log(median);
    total += weight;
  }
  return std::exp(logs / total);
}

/// The same of a trial that may have left after some passes, which met other states than all of
/// them: the baseline's time, changed by the trial's ratio to it in the passes of both.
double time_beside(const TrialPasses& passes, const TrialPasses& baseline,
                   const PassWeights& weights) {
  const std::map<int, double> of_baseline(baseline.begin(), baseline.end());
  TrialPasses ratios;
  for (const auto& [pass, median] : passes)
    if (const auto found = of_baseline.find(pass); found != of_baseline.end())
      ratios.emplace_back(pass, median / found->second);
  return ratios.empty() ? time_of(passes, weights)
                        : time_of(baseline, weights) * time_of(ratios, weights);
}

/// Of each key's passes.
std::map<TuningKey, PassWeights> weights_by_key(std::span<const Measurement> measurements) {
  std::map<Topology, std::vector<const Measurement*>> worlds;
  std::map<TuningKey, std::vector<const Measurement*>> keys;
  for (const Measurement& one : measurements) {
    worlds[one.key.topology].push_back(&one);
    keys[one.key].push_back(&one);
  }
  std::map<Topology, MachineStates> states;
  for (const auto& [topology, of_world] : worlds) states.emplace(topology, of_world);
  std::map<TuningKey, PassWeights> weights;
  for (const auto& [key, of_key] : keys)
    weights.emplace(key, states.at(key.topology).weights_of(of_key));
  return weights;
}

}  // namespace

double measured_at(const SweptCurve& curve, Bytes size) {
  const auto found = std::ranges::find(curve.points, size, &CurvePoint::size);
  return found == curve.points.end() ? 0 : found->time;
}

std::vector<SweptCurve> curves_of(std::span<const Measurement> measurements) {
  std::map<CurveName, std::map<Bytes, TrialPasses>> trials;
  std::map<CurveName, const Measurement*> named;
  for (const Measurement& trial : measurements) {
    if (trial.is_twin || !is_credited(trial)) continue;
    CurveName name{.key = trial.key, .variant = trial.variant};
    name.key.problem.message_size = {};
    std::vector<double> rounds = round_medians(trial);
    std::erase_if(rounds, [](double round) { return std::isnan(round) || round <= 0; });
    if (rounds.empty()) continue;
    named.emplace(name, &trial);
    trials[name][trial.key.problem.message_size].emplace_back(trial.pass, median_of(rounds));
  }
  const auto weights = weights_by_key(measurements);
  std::map<TuningKey, TrialPasses> baselines;  // of each size the one with the most passes
  for (const auto& [name, sizes] : trials)
    for (const auto& [size, passes] : sizes) {
      if (!named.at(name)->is_baseline) continue;
      TuningKey key = name.key;
      key.problem.message_size = size;
      if (TrialPasses& most = baselines[key]; passes.size() > most.size()) most = passes;
    }
  std::vector<SweptCurve> curves;
  for (const auto& [name, sizes] : trials) {
    SweptCurve curve{.key = name.key,
                     .variant = name.variant,
                     .family = named.at(name)->family,
                     .is_baseline = named.at(name)->is_baseline,
                     .points = {}};
    for (const auto& [size, passes] : sizes) {
      TuningKey key = name.key;
      key.problem.message_size = size;
      curve.points.push_back(
          {.size = size, .time = time_beside(passes, baselines[key], weights.at(key))});
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

std::vector<VariantCurve> to_variant_curves(std::span<const SweptCurve> curves) {
  std::vector<VariantCurve> all;
  for (const SweptCurve& curve : curves) {
    TuningKey world = curve.key;
    world.problem = {};
    all.push_back({.world = digest_of_value(world),
                   .problem = digest_of_value(curve.key.problem),
                   .implementation = curve.variant.implementation,
                   .variant = to_string(curve.variant),
                   .parameters = to_string(
                       Variant{.implementation = {}, .parameters = curve.variant.parameters}),
                   .family = curve.family,
                   .points = curve.points});
  }
  return all;
}

}  // namespace colltune
