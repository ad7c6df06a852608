// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "colltune/decide/decision_policy.h"

namespace colltune {

/// A variant in the rounds of a cell.
struct Racer {
  std::string_view family;
  bool is_baseline = false;
  bool is_twin = false;
  /// Time per call of each round so far; NaN where no sample of the round counts. Shorter than
  /// others': it has left.
  std::span<const double> round_medians;
};

/// What the rounds so far allow.
struct RaceState {
  std::vector<bool> may_leave;  ///< for each racer: it cannot win any more
  bool is_decided = false;      ///< more rounds would not change who wins

  friend bool operator==(const RaceState&, const RaceState&) = default;
};

/// Whether the race is judged after so many rounds: after each of the first few, then where bounds
/// are asked for.
[[nodiscard]] bool is_look(std::size_t rounds);

/// Pure; asked after the rounds of is_look(). Fields are all families together and each family.
///
/// A racer may leave where in each of its fields another one leads and either
/// - it was slower than the leader in every round by a large factor (one round: 3, two: 1.5, more:
///   1.25), or
/// - it is slower than the leader by more than the margin, or not faster than the field's baseline
///   by the margin, with confidence.
/// A baseline, its twin and the leader of a family never leave.
///
/// A field is decided where the leader is proven to beat the field's baseline (by the rule of
/// decide(); there may be none) and no other racer can beat the leader by the margin; or where no
/// rival can beat the baseline by the margin. Where nobody but the twin challenges the baseline,
/// the twin counts as a rival: the null test needs the rounds that a decision needs.
///
/// Looking often finds a difference by chance: bounds are asked for at 13 numbers of rounds only
/// (8, 11, 16, 23, 32, ..., 512), and the policy's risk is divided by those and by the number of
/// rivals.
[[nodiscard]] RaceState judge_race(std::span<const Racer> racers, const DecisionPolicy& policy);

}  // namespace colltune
