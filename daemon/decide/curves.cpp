// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/curves.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

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

/// The rounds of each pass of a trial that count.
using TrialPasses = std::vector<std::vector<double>>;

double time_of(const TrialPasses& passes) {
  std::vector<WeightedValue> values;
  for (const auto& rounds : passes)
    for (const double round : rounds)
      values.push_back({.value = round, .weight = 1 / static_cast<double>(rounds.size())});
  return weighted_median(std::move(values));
}

}  // namespace

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
    trials[name][trial.key.problem.message_size].push_back(std::move(rounds));
  }
  std::vector<SweptCurve> curves;
  for (const auto& [name, sizes] : trials) {
    SweptCurve curve{.key = name.key,
                     .variant = name.variant,
                     .family = named.at(name)->family,
                     .is_baseline = named.at(name)->is_baseline,
                     .points = {}};
    for (const auto& [size, passes] : sizes)
      curve.points.push_back({.size = size, .time = time_of(passes)});
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
