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

/// A rival beside a reference, round by round. Ratios are reference / rival: above 1 where the
/// rival is faster.
///
/// Passes lie apart in time and may meet the machine in unlike states, so how long one was does not
/// count: a state that held in one long pass does not outvote three short ones.
struct Duel {
  std::size_t rounds = 0;  ///< that both have, in all passes
  std::size_t passes = 1;  ///< in which both have some
  /// ratio_over_passes of each one's median; 0 where there are no rounds.
  double ratio = 0;
  /// One-sided bounds of the median over the rounds, each of which weighs the less the longer its
  /// pass was (median_bounds); never on the far side of `ratio`. Empty where there are too few
  /// rounds.
  std::optional<double> low;
  std::optional<double> high;
  double highest = 0;          ///< ratio_over_passes of each one's highest round
  std::optional<Modes> modes;  ///< where the ratios of all rounds fall into two groups
  /// What a load on the machine may have done to the ratio, at least 1: by how much it may have
  /// helped the rival, or held it back. `low` and `high` hold it already.
  double helped = 1;
  double held_back = 1;

  friend bool operator==(const Duel&, const Duel&) = default;
};

/// Over all passes, each by its weight. `risk` is the chance that one bound is wrong.
[[nodiscard]] Duel fight_in_passes(const PassRounds& reference, const PassRounds& rival,
                                   double risk, const PassWeights& weights = {});
/// Within one pass.
[[nodiscard]] Duel fight(std::span<const double> reference_rounds,
                         std::span<const double> rival_rounds, double risk);

/// The duel with bounds that allow for a load which took the shares `of_reference` and `of_rival`
/// of the time of the runs that count. Whoever lost more may be faster by as much than it looks. A
/// share is below 1.
[[nodiscard]] Duel widened(Duel duel, double of_reference, double of_rival);

/// The risk of one duel so that those of all `rivals` together keep the policy's confidence
/// (Bonferroni).
[[nodiscard]] double risk_of_duel(const DecisionPolicy& policy, std::size_t rivals);

/// What a duel came to.
enum class Standing {
  proven,  ///< faster by the margin and by more than the noise
  open,    ///< perhaps faster by the margin: the noise hides it
  beaten,  ///< not faster by the margin
};

/// What a rival's speed-up must exceed besides: what the baseline shows against itself. 1 where
/// there is no twin.
[[nodiscard]] double twin_noise(const Duel& twin);

/// The rule by which rivals, and the twin, are judged. Proven: the ratio is at least 1 +
/// `minimum_margin` also without what a load may have helped, its lower bound exceeds 1, it exceeds
/// `twin_noise`, and the rounds do not fall into two groups of which the slower is not faster by
/// the margin. Open: the ratio is at least 1 + `minimum_margin`, or may be without a load, without
/// that proof, or the rounds are too few for any bound and the highest reached the margin, or there
/// is no common round. Beaten: otherwise.
[[nodiscard]] Standing judge(const Duel& duel, const DecisionPolicy& policy, double twin_noise = 1);

/// Whether the rounds fall into two groups that do not agree on the rival.
[[nodiscard]] bool is_bimodal(const Duel& duel, const DecisionPolicy& policy);

/// "24 common rounds", "24 common rounds of 4 passes".
[[nodiscard]] std::string describe_rounds(const Duel& duel);

/// "1.034x as fast (at least 1.021x over 24 common rounds)" and, unless proven, why not.
[[nodiscard]] std::string explain(const Duel& duel, const DecisionPolicy& policy,
                                  double twin_noise = 1);

}  // namespace colltune
