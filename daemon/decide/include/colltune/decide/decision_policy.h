// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>

namespace colltune {

/// What a variant must show to displace the baseline. The defaults were chosen by the operating
/// characteristics that tests/bench/decide_bench prints.
struct DecisionPolicy {
  /// A variant must be faster by at least this fraction.
  double minimum_margin = 0.02;
  /// Confidence, over all rivals of a key together, that no variant is taken to be faster than the
  /// baseline by chance.
  double confidence = 0.995;
  /// Ranks that waited for a core for more than this share of the time (kept_waiting_of) were under
  /// load, which may favour some variants. The share is taken over the runs of a key, or of all
  /// keys of its world. Bounds are then widened by what the load may have done (widened() in
  /// duel.h). Empty: never.
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
