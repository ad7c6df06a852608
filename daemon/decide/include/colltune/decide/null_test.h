// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

#include "colltune/decide/decision_policy.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// How often noise alone would have displaced a baseline. The twin, which is the baseline a second
/// time, is judged like a rival of the same cell (judge() in duel.h, at the same risk). There is
/// one difference: a rival's gain must also exceed the twin's, which the twin's own gain cannot. So
/// rivals win by chance less often than this says.
struct NullTest {
  std::size_t keys = 0;    ///< whose baseline and twin were both measured
  std::size_t wins = 0;    ///< keys in which the twin would have displaced the baseline
  std::size_t losses = 0;  ///< keys in which the baseline would have displaced its twin
  /// One-sided upper bound, at 95 %, on the probability of a win; 1 without keys.
  double upper_bound = 1;

  friend bool operator==(const NullTest&, const NullTest&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, NullTest>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("keys", self.keys);
  visit("wins", self.wins);
  visit("losses", self.losses);
  visit("upper_bound", self.upper_bound);
}

/// "the twin won in 0 of 32 keys (at most 8.9 % by the upper 95 % bound) and lost in 1".
[[nodiscard]] std::string describe(const NullTest& test);

/// Includes held-out sizes. Throws Error(invalid_argument) if a trial occurs twice in a pass.
[[nodiscard]] NullTest null_test(std::span<const Measurement> measurements,
                                 const DecisionPolicy& policy);

}  // namespace colltune
