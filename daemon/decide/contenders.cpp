// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/contenders.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "colltune/decide/machine_states.h"
#include "colltune/decide/rounds.h"
#include "colltune/decide/statistics.h"

namespace colltune {
namespace {

/// A variant in one pass.
struct Runner {
  const Measurement* measurement = nullptr;
  std::vector<double> rounds;  ///< see round_medians
};
using Runners = std::vector<Runner>;

/// The median per call over all samples, including those that do not count.
double median_of_samples(const Measurement& measurement) {
  std::vector<double> samples;
  for (const auto sample : measurement.samples)
    samples.push_back(static_cast<double>(sample.count()) / measurement.calls_per_sample);
  return median_of(samples);
}

/// The median over the rounds that count; if none does, over all samples.
double typical_time(const Runner& runner) {
  std::vector<double> counted;
  for (const double round : runner.rounds)
    if (!std::isnan(round)) counted.push_back(round);
  return counted.empty() ? median_of_samples(*runner.measurement) : median_of(counted);
}

const Runner& fastest_of(const Runners& runners) {
  std::size_t most = 0;
  for (const Runner& runner : runners) most = std::max(most, runner.rounds.size());
  const Runner* fastest = nullptr;
  for (const Runner& runner : runners)
    if (runner.rounds.size() == most &&
        (fastest == nullptr || typical_time(runner) < typical_time(*fastest)))
      fastest = &runner;
  return *fastest;
}

/// How slow a variant was relative to the fastest of each pass.
struct Slowness {
  std::vector<PassRatio> logs;      ///< for passes with common rounds that count
  std::vector<double> uncountable;  ///< for the other passes, from disturbed samples
  int last_pass = 0;

  /// The mean of the middle third of the passes of each machine state. One pass with few or
  /// disturbed rounds must not end a variant's race, nor must the state that most passes met.
  [[nodiscard]] double typical() const {
    constexpr double trimmed = 1.0 / 3;
    return logs.empty() ? std::exp(trimmed_mean(uncountable, trimmed))
                        : ratio_over_passes(logs, trimmed);
  }
};
using Slownesses = std::map<Variant, Slowness>;  ///< within one family

/// A lucky round must not rank a variant ahead of one that ran all rounds.
double log_of(double ratio) { return std::log(std::max(1.0, ratio)); }

/// Must be called with ascending passes.
void take_pass(int pass, const PassWeight& by, const Runners& runners, Slownesses& slownesses) {
  const Runner& fastest = fastest_of(runners);
  for (const Runner& runner : runners) {
    Slowness& slowness = slownesses[runner.measurement->variant];
    const auto ratios = paired_ratios(runner.rounds, fastest.rounds);
    if (ratios.empty())
      slowness.uncountable.push_back(
          log_of(median_of_samples(*runner.measurement) / median_of_samples(*fastest.measurement)));
    else
      slowness.logs.push_back({log_of(median_of(ratios)), by});
    slowness.last_pass = pass;
  }
}

/// The best of a family that ran in `passes`, best first, without `besides`.
std::vector<Variant> best_of(const std::map<int, Runners>& passes, const PassWeights& weights,
                             const std::set<TrialName>& besides) {
  Slownesses slownesses;
  for (const auto& [pass, runners] : passes)
    take_pass(pass, weight_of(pass, weights), runners, slownesses);
  std::vector<std::pair<double, Variant>> order;
  for (const auto& [variant, slowness] : slownesses)
    if (slowness.last_pass == passes.rbegin()->first)
      order.emplace_back(slowness.typical(), variant);
  std::ranges::sort(order);
  const double most = contender_factor(passes.size()) * order.front().first;
  std::vector<Variant> best;
  for (const auto& [slowness, variant] : order)
    if (slowness <= most && best.size() < most_contenders(passes.size()) &&
        !besides.contains({.variant = variant}))
      best.push_back(variant);
  return best;
}

}  // namespace

double contender_factor(std::size_t passes) {
  return std::exp(2 / std::sqrt(static_cast<double>(passes)));
}

std::size_t most_contenders(std::size_t passes) {
  constexpr std::size_t first = 24;
  constexpr std::size_t last = 6;
  constexpr std::size_t step = 2;
  return first - std::min(first - last, step * (passes - 1));
}

std::set<TrialName> sound_of(std::span<const Measurement> of_key) {
  std::set<TrialName> sound;
  for (const Measurement& measurement : of_key) sound.insert(name_of_trial(measurement));
  for (const Measurement& measurement : of_key)
    if (!is_credited(measurement)) sound.erase(name_of_trial(measurement));
  return sound;
}

std::set<TrialName> contenders_of(std::span<const Measurement> of_key) {
  const std::set<TrialName> sound = sound_of(of_key);
  std::set<TrialName> contenders;
  std::map<std::string, std::map<int, Runners>> families;
  for (const Measurement& measurement : of_key) {
    const TrialName name = name_of_trial(measurement);
    if (!sound.contains(name)) continue;
    if (measurement.is_baseline || measurement.is_twin) contenders.insert(name);
    if (!measurement.is_twin && !measurement.samples.empty())
      families[measurement.family][measurement.pass].push_back(
          {&measurement, round_medians(measurement)});
  }
  std::vector<const Measurement*> all;
  for (const Measurement& measurement : of_key) all.push_back(&measurement);
  // Within one key the weights are equal; what matters here is which passes met the same state.
  const PassWeights weights = MachineStates(all).weights_of(all);
  for (const auto& [family, passes] : families)
    for (const Variant& variant : best_of(passes, weights, contenders))
      contenders.insert({.variant = variant});
  return contenders;
}

}  // namespace colltune
