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

/// The trials of one key, and how long everything took in each of its passes.
///
/// The logarithm of a median is the variant's level plus the pass's, by least squares over all
/// trials of the key (two-way analysis of variance). A variant that left early met the machine of
/// the passes before alone, and all that were in those passes tell what these were like: more of
/// them than the baseline, whose own disturbances would be the variant's otherwise.
class KeyLevels {
 public:
  /// `trials` must stay alive.
  KeyLevels(const std::vector<const TrialPasses*>& trials, const PassWeights& weights)
      : weights_(weights) {
    for (const TrialPasses* const trial : trials)
      for (const auto& [pass, median] : *trial) levels_.emplace(pass, 0.0);
    for (int step = 0; step < most_steps; ++step)
      if (refine(trials) < exact_enough) break;
  }

  /// A trial's time in all passes of the key, each with the weight of the machine state that it
  /// met. A mean, since times of two states lie a factor apart: their median would be of the one
  /// state at one size and of the other at the next.
  [[nodiscard]] double time_of(const TrialPasses& trial) const {
    return std::exp(own_level(trial) + mean_level());
  }

 private:
  static constexpr int most_steps = 100;
  static constexpr double exact_enough = 1e-6;

  [[nodiscard]] double own_level(const TrialPasses& trial) const {
    double logs = 0;
    double total = 0;
    for (const auto& [pass, median] : trial) {
      const double weight = weight_of(pass, weights_).weight;
      logs += weight * (std::log(median) - levels_.at(pass));
      total += weight;
    }
    return logs / total;
  }

  [[nodiscard]] double mean_level() const {
    double levels = 0;
    double total = 0;
    for (const auto& [pass, level] : levels_) {
      const double weight = weight_of(pass, weights_).weight;
      levels += weight * level;
      total += weight;
    }
    return levels / total;
  }

  /// The largest change of a level.
  double refine(const std::vector<const TrialPasses*>& trials) {
    std::map<int, std::pair<double, int>> sums;
    for (const TrialPasses* const trial : trials) {
      const double own = own_level(*trial);
      for (const auto& [pass, median] : *trial) {
        sums[pass].first += std::log(median) - own;
        ++sums[pass].second;
      }
    }
    double change = 0;
    for (const auto& [pass, sum] : sums) {
      const double level = sum.first / sum.second;
      change = std::max(change, std::abs(level - std::exchange(levels_[pass], level)));
    }
    return change;
  }

  const PassWeights& weights_;
  std::map<int, double> levels_;  ///< of the passes
};

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

TuningKey key_at(const CurveName& name, Bytes size) {
  TuningKey key = name.key;
  key.problem.message_size = size;
  return key;
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
  std::map<TuningKey, std::vector<const TrialPasses*>> together;
  for (const auto& [name, sizes] : trials)
    for (const auto& [size, passes] : sizes) together[key_at(name, size)].push_back(&passes);
  std::map<TuningKey, KeyLevels> levels;
  for (const auto& [key, of_key] : together)
    levels.emplace(key, KeyLevels(of_key, weights.at(key)));
  std::vector<SweptCurve> curves;
  for (const auto& [name, sizes] : trials) {
    SweptCurve curve{.key = name.key,
                     .variant = name.variant,
                     .family = named.at(name)->family,
                     .is_baseline = named.at(name)->is_baseline,
                     .points = {},
                     .passes = {}};
    for (const auto& [size, passes] : sizes) {
      curve.points.push_back({.size = size, .time = levels.at(key_at(name, size)).time_of(passes)});
      curve.passes.push_back(passes.size());
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
