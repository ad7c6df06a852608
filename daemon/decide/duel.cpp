// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/duel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "colltune/decide/rounds.h"
#include "colltune/decide/statistics.h"

namespace colltune {

Duel fight(std::span<const double> reference_rounds, std::span<const double> rival_rounds,
           double risk) {
  const std::vector<double> ratios = paired_ratios(reference_rounds, rival_rounds);
  if (ratios.empty()) return {};
  std::vector<double> logs;
  logs.reserve(ratios.size());
  for (const double ratio : ratios) logs.push_back(std::log(ratio));
  // By logarithms: the median of the inverse ratios is then the inverse median.
  Duel duel{.rounds = ratios.size(),
            .ratio = std::exp(median_of(logs)),
            .low = median_lower_bound(ratios, 1 - risk),
            .high = median_upper_bound(ratios, 1 - risk),
            .highest = *std::ranges::max_element(ratios),
            .modes = find_modes(logs)};
  if (duel.modes) {
    duel.modes->low = std::exp(duel.modes->low);
    duel.modes->high = std::exp(duel.modes->high);
  }
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
  if (duel.ratio < needed) return Standing::beaten;
  const bool is_proven = *duel.low > 1 && duel.ratio > twin_noise && !is_bimodal(duel, policy);
  return is_proven ? Standing::proven : Standing::open;
}

std::string explain(const Duel& duel, const DecisionPolicy& policy, double twin_noise) {
  if (duel.rounds == 0) return "has no round in common with the baseline in which both count";
  const std::string faster = fmt::format("is {:.3f}x as fast", duel.ratio);
  const double needed = 1 + policy.minimum_margin;
  if (duel.low ? duel.ratio < needed : duel.highest < needed)
    return fmt::format("{}, less than the margin of {:.3g} %", faster, 100 * policy.minimum_margin);
  if (!duel.low)
    return fmt::format("{}, but {} common round(s) are too few to tell it from noise", faster,
                       duel.rounds);
  if (is_bimodal(duel, policy))
    return fmt::format(
        "{}, but bimodal: {:.3f}x in {:.0f} % of {} common rounds, {:.3f}x in the "
        "others",
        faster, duel.modes->high, 100 * duel.modes->share_high, duel.rounds, duel.modes->low);
  if (*duel.low <= 1)
    return fmt::format("{}, which is within the noise (at least {:.3f}x over {} common rounds)",
                       faster, *duel.low, duel.rounds);
  if (duel.ratio <= twin_noise)
    return fmt::format("{}, but the baseline differs from its own twin by {:.3f}x", faster,
                       twin_noise);
  return fmt::format("{} (at least {:.3f}x over {} common rounds)", faster, *duel.low, duel.rounds);
}

}  // namespace colltune
