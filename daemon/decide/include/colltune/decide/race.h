// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "colltune/decide/decision_policy.h"

namespace colltune {

/// A variant in the rounds of a cell.
struct RacedTrial {
  std::string_view family;
  bool is_baseline = false;
  bool is_twin = false;
  /// Time per call of each round so far; NaN if no sample of the round counts. Shorter than the
  /// others' once the variant has left.
  std::span<const double> round_medians;
};

/// What follows from the rounds so far.
struct RaceState {
  std::vector<bool> may_leave;  ///< for each trial: it can no longer win
  bool is_decided = false;      ///< more rounds would not change the winner

  friend bool operator==(const RaceState&, const RaceState&) = default;
};

/// Whether the race is judged after this many rounds: after each of the first few, then at the
/// numbers at which bounds are computed.
[[nodiscard]] bool is_look(std::size_t rounds);

/// Pure; called after the rounds of is_look(). A field is all families together, or one family.
///
/// A trial may leave if in each of its fields another one leads and either
/// - it was slower than the leader in every round by a large factor (one round: 3, two: 1.5, more:
///   1.25), or
/// - with confidence, it is slower than the leader by more than the margin, or not faster than the
///   field's baseline by the margin.
/// A baseline, its twin and the leader of a family never leave.
///
/// A field is decided in two cases. Either the leader is proven to beat the field's baseline, if
/// there is one, by the rule of decide(), and no other trial can beat the leader by the margin. Or
/// no rival can beat the baseline by the margin. If only the twin challenges the baseline, the twin
/// counts as a rival: the null test needs as many rounds as a decision.
///
/// Looking often finds a difference by chance. So bounds are computed at only 13 numbers of rounds
/// (8, 11, 16, 23, 32, ..., 512), and the policy's risk is divided by 13 and by the number of
/// rivals.
[[nodiscard]] RaceState judge_race(std::span<const RacedTrial> raced, const DecisionPolicy& policy);

}  // namespace colltune
