// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "colltune/decide/decision_policy.h"
#include "colltune/decide/modes.h"
#include "colltune/decide/rounds.h"

namespace colltune {

/// A rival compared with a reference, round by round. Ratios are reference / rival: above 1 if the
/// rival is faster.
///
/// Passes are apart in time and may meet the machine in different states, so the length of a pass
/// does not count: a state that lasted for one long pass does not outvote three short passes.
struct Duel {
  std::size_t rounds = 0;  ///< that both have, over all passes
  std::size_t passes = 1;  ///< in which both have rounds
  /// ratio_over_passes of the medians of the passes; 0 if there are no rounds.
  double ratio = 0;
  /// One-sided bounds of the median over the rounds. The longer a pass, the less each of its rounds
  /// weighs (median_bounds). The bounds always enclose `ratio`. Empty if there are too few rounds.
  std::optional<double> low;
  std::optional<double> high;
  double highest = 0;          ///< ratio_over_passes of the highest rounds of the passes
  std::optional<Modes> modes;  ///< set if the ratios of all rounds fall into two groups
  /// Factors, at least 1, by which a load on the machine may have helped the rival or held it back.
  /// `low` and `high` already include them.
  double helped = 1;
  double held_back = 1;

  friend bool operator==(const Duel&, const Duel&) = default;
};

/// The duel over all passes, each by its weight. `risk` is the probability that one bound is wrong.
[[nodiscard]] Duel fight_in_passes(const PassRounds& reference, const PassRounds& rival,
                                   double risk, const PassWeights& weights = {});
/// The duel within one pass.
[[nodiscard]] Duel fight(std::span<const double> reference_rounds,
                         std::span<const double> rival_rounds, double risk);

/// The duel with bounds that allow for a load, which took the shares `of_reference` and `of_rival`
/// (each below 1) of the time of the runs that count. The variant that lost more may be faster than
/// it looks by that much.
[[nodiscard]] Duel widened(Duel duel, double of_reference, double of_rival);

/// The risk of one duel such that the duels of all `rivals` together keep the policy's confidence
/// (Bonferroni).
[[nodiscard]] double risk_of_duel(const DecisionPolicy& policy, std::size_t rivals);

/// The result of a duel.
enum class Standing {
  proven,  ///< faster by the margin and by more than the noise
  open,    ///< perhaps faster by the margin, but noise hides it
  beaten,  ///< not faster by the margin
};

/// What a rival's speed-up must also exceed: the ratio that the baseline shows against itself. 1 if
/// there is no twin.
[[nodiscard]] double twin_noise(const Duel& twin);

/// The rule that judges rivals and the twin.
/// Proven: the ratio is at least 1 + `minimum_margin` even without what a load may have added, its
/// lower bound exceeds 1, it exceeds `twin_noise`, and the rounds do not fall into two groups of
/// which the slower one is not faster by the margin.
/// Open: the ratio is at least 1 + `minimum_margin`, or might be without a load, but is not proven;
/// or the rounds are too few for any bound and the highest one reached the margin; or there is no
/// common round.
/// Beaten: otherwise.
[[nodiscard]] Standing judge(const Duel& duel, const DecisionPolicy& policy, double twin_noise = 1);

/// Whether the rounds fall into two groups that disagree about the rival.
[[nodiscard]] bool is_bimodal(const Duel& duel, const DecisionPolicy& policy);

/// "24 common rounds", "24 common rounds of 4 passes".
[[nodiscard]] std::string describe_rounds(const Duel& duel);

/// "1.034x as fast (at least 1.021x over 24 common rounds)" and, unless proven, why not.
[[nodiscard]] std::string explain(const Duel& duel, const DecisionPolicy& policy,
                                  double twin_noise = 1);

}  // namespace colltune
