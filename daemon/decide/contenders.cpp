// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/contenders.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

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

/// Of all samples per call, those that do not count too.
double median_of_samples(const Measurement& measurement) {
  std::vector<double> samples;
  for (const auto sample : measurement.samples)
    samples.push_back(static_cast<double>(sample.count()) / measurement.calls_per_sample);
  return median_of(samples);
}

/// Of the rounds that count; where none does, of all samples.
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

/// How slow each variant of one family was beside the fastest, in its best pass so far.
using Ratios = std::map<Variant, double>;

double ratio_of(const Runner& runner, const Runner& fastest) {
  const auto ratios = paired_ratios(runner.rounds, fastest.rounds);
  return ratios.empty()
             ? median_of_samples(*runner.measurement) / median_of_samples(*fastest.measurement)
             : median_of(ratios);
}

void take_pass(const Runners& runners, Ratios& best) {
  const Runner& fastest = fastest_of(runners);
  for (const Runner& runner : runners) {
    const double ratio = ratio_of(runner, fastest);
    const auto [known, is_new] = best.try_emplace(runner.measurement->variant, ratio);
    if (!is_new) known->second = std::min(known->second, ratio);
  }
}

}  // namespace

std::set<TrialName> contenders_of(std::span<const Measurement> of_key) {
  std::set<TrialName> faulty;
  for (const Measurement& measurement : of_key)
    if (measurement.outcome != Outcome::ok) faulty.insert(name_of_trial(measurement));
  std::set<TrialName> contenders;
  std::map<std::string, std::map<int, Runners>> families;
  for (const Measurement& measurement : of_key) {
    const TrialName name = name_of_trial(measurement);
    if (faulty.contains(name)) continue;
    if (measurement.is_baseline || measurement.is_twin) contenders.insert(name);
    if (!measurement.is_twin && !measurement.samples.empty())
      families[measurement.family][measurement.pass].push_back(
          {&measurement, round_medians(measurement)});
  }
  for (const auto& [family, passes] : families) {
    Ratios best;
    for (const auto& [pass, runners] : passes) take_pass(runners, best);
    std::vector<std::pair<double, Variant>> order;
    for (const auto& [variant, ratio] : best)
      if (ratio <= contender_factor && !contenders.contains({.variant = variant}))
        order.emplace_back(ratio, variant);
    std::ranges::sort(order);
    for (std::size_t i = 0; i < std::min(order.size(), most_contenders); ++i)
      contenders.insert({.variant = order[i].second});
  }
  return contenders;
}

}  // namespace colltune
