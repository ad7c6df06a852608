// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/machine_states.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "colltune/decide/statistics.h"

namespace colltune {
namespace {

// Two groups of visits are two states if the means of their logarithms differ by this factor or
// more, the split explains this share of the variance, and each group has this share of all visits.
constexpr double least_factor = 1.5;
constexpr double least_explained = 0.75;
constexpr double least_share = 0.05;
constexpr double largest_weight = 3;
// An interrupted signal takes a thousand times as long as others. Two of them among all visits
// lowered the share of the variance that a split explains to 0.748; without them it was 0.98.
constexpr double clipped = 0.01;

/// By key and pass: all trials of a visit carry the same value.
std::map<std::pair<TuningKey, int>, double> hand_overs_of(
    std::span<const Measurement* const> measurements) {
  std::map<std::pair<TuningKey, int>, double> visits;
  for (const Measurement* one : measurements)
    if (const auto& hand_over = one->conditions.hand_over; hand_over && hand_over->count() > 0)
      visits.emplace(std::pair(one->key, one->pass), static_cast<double>(hand_over->count()));
  return visits;
}

/// The best cut of ascending `logs` into two groups (Otsu 1979: least variance within the groups);
/// empty if they form one state.
std::optional<std::size_t> find_cut(std::span<const double> logs, std::size_t least) {
  const auto count = static_cast<double>(logs.size());
  double sum = 0;
  double squares = 0;
  for (const double value : logs) {
    sum += value;
    squares += value * value;
  }
  const double total = squares - sum * sum / count;
  std::optional<std::size_t> best;
  double explained = least_explained * total;
  double lower = 0;
  for (std::size_t cut = 1; cut < logs.size(); ++cut) {
    lower += logs[cut - 1];
    if (cut < least || logs.size() - cut < least || logs[cut - 1] == logs[cut]) continue;
    const auto below = static_cast<double>(cut);
    const double distance = (sum - lower) / (count - below) - lower / below;
    const double between = distance * distance * below * (count - below) / count;
    if (distance < std::log(least_factor) || between < explained) continue;
    explained = between;
    best = cut;
  }
  return best;
}

/// The groups of ascending `logs`; each is cut again while it contains several states.
void cut_up(std::span<const double> logs, std::size_t least,
            std::vector<std::span<const double>>& groups) {
  if (const auto cut = find_cut(logs, least)) {
    cut_up(logs.first(*cut), least, groups);
    cut_up(logs.subspan(*cut), least, groups);
  } else {
    groups.push_back(logs);
  }
}

}  // namespace

MachineStates::MachineStates(std::span<const Measurement* const> of_world) {
  std::vector<double> logs;
  for (const auto& [visit, hand_over] : hand_overs_of(of_world))
    logs.push_back(std::log(hand_over));
  if (logs.empty()) return;
  std::ranges::sort(logs);
  const auto count = static_cast<double>(logs.size());
  const auto out = static_cast<std::size_t>(std::ceil(clipped * count));
  if (logs.size() > 2 * out)
    for (std::size_t i = 0; i < out; ++i) {
      logs[i] = logs[out];
      logs[logs.size() - 1 - i] = logs[logs.size() - 1 - out];
    }
  std::vector<std::span<const double>> groups;
  cut_up(logs, std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(least_share * count))),
         groups);
  for (const auto group : groups)
    states_.push_back({.from = std::exp(group.front()),
                       .median = std::exp(median_of(group)),
                       .share = static_cast<double>(group.size()) / count});
}

std::size_t MachineStates::state_of(double hand_over) const {
  // `from` is the exponential of a logarithm, so values that differ only by rounding count as
  // equal.
  constexpr double rounding = 1e-9;
  std::size_t state = 0;
  while (state + 1 < states_.size() && states_[state + 1].from <= hand_over * (1 + rounding))
    ++state;
  return state;
}

PassWeights MachineStates::weights_of(std::span<const Measurement* const> measurements) const {
  PassWeights weights;
  for (const Measurement* one : measurements) weights[one->pass] = {};
  const auto visits = hand_overs_of(measurements);
  if (states_.size() < 2 || visits.size() < weights.size()) return weights;
  std::vector<double> counts(states_.size());
  for (const auto& [visit, hand_over] : visits) ++counts[state_of(hand_over)];
  for (const auto& [visit, hand_over] : visits) {
    const std::size_t state = state_of(hand_over);
    const double of_key = counts[state] / static_cast<double>(visits.size());
    const double target = (states_[state].share + 1 / static_cast<double>(states_.size())) / 2;
    weights[visit.second] = {std::min(largest_weight, target / of_key), state};
  }
  return weights;
}

}  // namespace colltune
