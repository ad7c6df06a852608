// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>

namespace colltune {

/// What a variant must show to displace the baseline. The defaults are chosen by the operating
/// characteristics that tests/bench/decide_bench prints.
struct DecisionPolicy {
  /// By which it must be faster.
  double minimum_margin = 0.02;
  /// That no variant of a key is taken for faster than the baseline by chance, over all rivals of
  /// the key together.
  double confidence = 0.995;
  /// Where ranks waited for a core for more than this share of the time (kept_waiting_of), in the
  /// runs of a key or in those of all keys of its world, what runs beside a sweep may favour some
  /// variants: bounds are widened by what it can have done (widened() in duel.h). Empty: never.
  std::optional<double> most_kept_waiting = 0.05;

  friend bool operator==(const DecisionPolicy&, const DecisionPolicy&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, DecisionPolicy>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("minimum_margin", self.minimum_margin);
  visit("confidence", self.confidence);
  visit("most_kept_waiting", self.most_kept_waiting);
}

}  // namespace colltune
