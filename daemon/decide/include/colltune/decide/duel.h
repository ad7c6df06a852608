// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "colltune/decide/decision_policy.h"
#include "colltune/decide/modes.h"

namespace colltune {

/// A rival beside a reference, round by round. Ratios are reference / rival: above 1 where the
/// rival is faster.
struct Duel {
  std::size_t rounds = 0;  ///< that both have
  double ratio = 0;        ///< median over the rounds; 0 where there are none
  /// One-sided bounds of that median (order statistics); empty where there are too few rounds.
  std::optional<double> low;
  std::optional<double> high;
  double highest = 0;          ///< of any round
  std::optional<Modes> modes;  ///< where the ratios fall into two groups

  friend bool operator==(const Duel&, const Duel&) = default;
};

/// `risk` is the chance that one bound is wrong.
[[nodiscard]] Duel fight(std::span<const double> reference_rounds,
                         std::span<const double> rival_rounds, double risk);

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
/// `minimum_margin`, its lower bound exceeds 1, it exceeds `twin_noise`, and the rounds do not
/// fall into two groups of which the slower is not faster by the margin. Open: the ratio is at
/// least 1 + `minimum_margin` without that proof, or the rounds are too few for any bound and some
/// round reached the margin, or there is no common round. Beaten: otherwise.
[[nodiscard]] Standing judge(const Duel& duel, const DecisionPolicy& policy, double twin_noise = 1);

/// Whether the rounds fall into two groups that do not agree on the rival.
[[nodiscard]] bool is_bimodal(const Duel& duel, const DecisionPolicy& policy);

/// "1.034x as fast (at least 1.021x over 24 common rounds)" and, unless proven, why not.
[[nodiscard]] std::string explain(const Duel& duel, const DecisionPolicy& policy,
                                  double twin_noise = 1);

}  // namespace colltune
