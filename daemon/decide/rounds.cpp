// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/rounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "colltune/decide/statistics.h"

namespace colltune {

bool counts(const Measurement& measurement, std::size_t sample) {
  return measurement.marks.empty() || measurement.marks[sample] == 0;
}

std::vector<double> round_medians(const Measurement& measurement) {
  const auto per_round = static_cast<std::size_t>(std::max(1, measurement.samples_per_round));
  std::vector<double> medians;
  std::vector<double> round;
  for (std::size_t first = 0; first < measurement.samples.size(); first += per_round) {
    round.clear();
    const std::size_t end = std::min(first + per_round, measurement.samples.size());
    for (std::size_t i = first; i < end; ++i)
      if (counts(measurement, i))
        round.push_back(static_cast<double>(measurement.samples[i].count()) /
                        measurement.calls_per_sample);
    medians.push_back(round.empty() ? std::numeric_limits<double>::quiet_NaN() : median_of(round));
  }
  return medians;
}

std::vector<double> paired_ratios(std::span<const double> reference,
                                  std::span<const double> rival) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < std::min(reference.size(), rival.size()); ++round)
    if (reference[round] > 0 && rival[round] > 0) ratios.push_back(reference[round] / rival[round]);
  return ratios;
}

std::map<int, std::vector<double>> ratios_by_pass(const PassRounds& reference,
                                                  const PassRounds& rival) {
  std::map<int, std::vector<double>> by_pass;
  for (const auto& [pass, rounds] : reference) {
    const auto found = rival.find(pass);
    if (found == rival.end()) continue;
    if (auto ratios = paired_ratios(rounds, found->second); !ratios.empty())
      by_pass.emplace(pass, std::move(ratios));
  }
  return by_pass;
}

PassWeight weight_of(int pass, const PassWeights& weights) {
  const auto found = weights.find(pass);
  return found == weights.end() ? PassWeight{} : found->second;
}

double ratio_over_passes(std::span<const PassRatio> passes, double trimmed) {
  struct State {
    std::vector<double> logs;
    double weight = 0;
  };
  std::map<std::size_t, State> states;
  double weight = 0;
  for (const PassRatio& pass : passes) {
    State& state = states[pass.by.state];
    state.logs.push_back(pass.log);
    state.weight += pass.by.weight;
    weight += pass.by.weight;
  }
  double log = 0;
  for (auto& [number, state] : states)
    log += state.weight / weight * trimmed_mean(std::move(state.logs), trimmed);
  return std::exp(log);
}

double balanced_ratio(const std::map<int, std::vector<double>>& ratios,
                      const PassWeights& weights) {
  if (ratios.size() == 1) return median_of(ratios.begin()->second);
  std::vector<PassRatio> passes;
  for (const auto& [pass, of_pass] : ratios)
    passes.push_back({std::log(median_of(of_pass)), weight_of(pass, weights)});
  return ratio_over_passes(passes);
}

}  // namespace colltune
