// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/duel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "colltune/decide/statistics.h"

namespace colltune {

namespace {

// A pass with fewer rounds than this says too little by itself to count as much as the others. Two
// passes are worth four times the rounds of the shorter one (Kish), and to prove something among a
// few dozen rivals takes at least 16.
constexpr std::size_t least_rounds = 4;
constexpr std::size_t shortest_part = 4;  // fraction (1/4) of the longest pass

/// Joins short passes to longer ones. A pass is short if it has fewer than least_rounds rounds and
/// less than a quarter of the longest pass; it is joined to the longest pass of the same machine
/// state, if any, else to the longest of all. Otherwise one round of a visit that ran out of budget
/// would weigh as much as hundreds of another, or represent a state alone. A pass in which the
/// rival left a long visit early counts in full, because the rival was hopeless there.
void join_short_passes(std::map<int, std::vector<double>>& by_pass, const PassRounds& reference,
                       const PassWeights& weights) {
  for (auto at = by_pass.begin(); at != by_pass.end();) {
    const auto fit_of = [&](auto pass) {
      const bool is_alike =
          weight_of(pass->first, weights).state == weight_of(at->first, weights).state;
      return std::pair(is_alike, pass->second.size());
    };
    auto joined = by_pass.end();
    for (auto other = by_pass.begin(); other != by_pass.end(); ++other)
      if (other != at && other->second.size() >= at->second.size() &&
          (joined == by_pass.end() || fit_of(other) > fit_of(joined)))
        joined = other;
    const std::size_t rounds = reference.at(at->first).size();
    const bool is_short = rounds < least_rounds && joined != by_pass.end() &&
                          rounds * shortest_part < joined->second.size();
    if (!is_short) {
      ++at;
      continue;
    }
    joined->second.insert(joined->second.end(), at->second.begin(), at->second.end());
    at = by_pass.erase(at);
  }
}

/// The duel over the ratios of each pass; `by_pass` must not be empty.
Duel fight_over(const std::map<int, std::vector<double>>& by_pass, double risk,
                const PassWeights& weights) {
  std::size_t longest = 0;
  for (const auto& [pass, ratios] : by_pass) longest = std::max(longest, ratios.size());
  std::vector<WeightedValue> rounds;
  std::vector<double> logs;
  std::vector<PassRatio> medians;
  std::vector<PassRatio> highest;
  for (const auto& [pass, ratios] : by_pass) {
    const std::size_t first = logs.size();
    const PassWeight by = weight_of(pass, weights);
    const double of_round =
        by.weight * static_cast<double>(longest) / static_cast<double>(ratios.size());
    for (const double ratio : ratios) {
      rounds.push_back({.value = ratio, .weight = of_round});
      logs.push_back(std::log(ratio));
    }
    // Medians of logarithms, so that the median of the inverse ratios is the inverse median.
    medians.push_back({median_of(std::span(logs).subspan(first)), by});
    highest.push_back({std::ranges::max(std::span(logs).subspan(first)), by});
  }
  const MedianBounds bounds = median_bounds(std::move(rounds), 1 - risk);
  Duel duel{.rounds = logs.size(),
            .passes = by_pass.size(),
            .ratio = ratio_over_passes(medians),
            .low = bounds.low,
            .high = bounds.high,
            .highest = ratio_over_passes(highest),
            .modes = find_modes(logs)};
  // If passes disagree, the interval of the median over the rounds may not contain the mean over
  // the passes. It is widened to contain it, since it must not claim more.
  if (by_pass.size() > 1 && duel.low) {
    duel.low = std::min(*duel.low, duel.ratio);
    duel.high = std::max(*duel.high, duel.ratio);
  }
  if (duel.modes) {
    duel.modes->low = std::exp(duel.modes->low);
    duel.modes->high = std::exp(duel.modes->high);
  }
  return duel;
}

}  // namespace

Duel fight_in_passes(const PassRounds& reference, const PassRounds& rival, double risk,
                     const PassWeights& weights) {
  auto by_pass = ratios_by_pass(reference, rival);
  join_short_passes(by_pass, reference, weights);
  return by_pass.empty() ? Duel{} : fight_over(by_pass, risk, weights);
}

Duel fight(std::span<const double> reference_rounds, std::span<const double> rival_rounds,
           double risk) {
  std::vector<double> ratios = paired_ratios(reference_rounds, rival_rounds);
  return ratios.empty() ? Duel{} : fight_over({{0, std::move(ratios)}}, risk, {});
}

Duel widened(Duel duel, double of_reference, double of_rival) {
  const double factor = (1 - of_rival) / (1 - of_reference);
  duel.helped = std::max(1.0, factor);
  duel.held_back = std::max(1.0, 1 / factor);
  if (duel.low) *duel.low /= duel.helped;
  if (duel.high) *duel.high *= duel.held_back;
  return duel;
}

double risk_of_duel(const DecisionPolicy& policy, std::size_t rivals) {
  return (1 - policy.confidence) / static_cast<double>(std::max<std::size_t>(1, rivals));
}

double twin_noise(const Duel& twin) {
  return twin.rounds == 0 ? 1 : std::max(twin.ratio, 1 / twin.ratio);
}

bool is_bimodal(const Duel& duel, const DecisionPolicy& policy) {
  const double needed = 1 + policy.minimum_margin;
  return duel.modes && duel.modes->low < needed && duel.modes->high / duel.modes->low >= needed;
}

Standing judge(const Duel& duel, const DecisionPolicy& policy, double twin_noise) {
  const double needed = 1 + policy.minimum_margin;
  if (duel.rounds == 0) return Standing::open;
  if (!duel.low || !duel.high) return duel.highest >= needed ? Standing::open : Standing::beaten;
  if (duel.ratio * duel.held_back < needed) return Standing::beaten;
  const bool is_proven = *duel.low > 1 && duel.ratio / duel.helped >= needed &&
                         duel.ratio > twin_noise && !is_bimodal(duel, policy);
  return is_proven ? Standing::proven : Standing::open;
}

std::string describe_rounds(const Duel& duel) {
  return fmt::format("{} common rounds", duel.rounds) +
         (duel.passes > 1 ? fmt::format(" of {} passes", duel.passes) : std::string());
}

std::string explain(const Duel& duel, const DecisionPolicy& policy, double twin_noise) {
  if (duel.rounds == 0) return "has no round in common with the baseline in which both count";
  const std::string faster = fmt::format("is {:.3f}x as fast", duel.ratio);
  const double needed = 1 + policy.minimum_margin;
  if (duel.low ? duel.ratio * duel.held_back < needed : duel.highest < needed)
    return fmt::format("{}, less than the margin of {:.3g} %", faster, 100 * policy.minimum_margin);
  if (duel.low && duel.ratio < needed)
    return fmt::format("{}, but what else ran there may have held it back by {:.3f}x", faster,
                       duel.held_back);
  if (!duel.low)
    return fmt::format("{}, but {} common round(s) are too few to tell it from noise", faster,
                       duel.rounds);
  if (is_bimodal(duel, policy))
    return fmt::format("{}, but bimodal: {:.3f}x in {:.0f} % of {}, {:.3f}x in the others", faster,
                       duel.modes->high, 100 * duel.modes->share_high, describe_rounds(duel),
                       duel.modes->low);
  if (duel.helped > 1 && (*duel.low <= 1 || duel.ratio / duel.helped < needed) &&
      *duel.low * duel.helped > 1)
    return fmt::format(
        "{}, but what else ran there may have helped it by {:.3f}x; sweep again when nothing else "
        "runs there",
        faster, duel.helped);
  if (*duel.low <= 1)
    return fmt::format("{}, which is within the noise (at least {:.3f}x over {})", faster,
                       *duel.low, describe_rounds(duel));
  if (duel.ratio <= twin_noise)
    return fmt::format("{}, but the baseline differs from its own twin by {:.3f}x", faster,
                       twin_noise);
  return fmt::format("{} (at least {:.3f}x over {})", faster, *duel.low, describe_rounds(duel));
}

}  // namespace colltune
