// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "colltune/vocabulary/decision.h"

namespace colltune {

/// The message sizes for which one variant is to be used: what other libraries' tuning files hold.
struct SizeRange {
  Bytes min;                 ///< the first size of the range
  std::optional<Bytes> max;  ///< the last one; empty: every size from `min` on
  Variant winner;
  bool is_baseline = false;
  bool extrapolated = false;          ///< below the smallest, or beyond the largest measured size
  std::vector<Bytes> measured_sizes;  ///< the measured sizes that the range rests on

  friend bool operator==(const SizeRange&, const SizeRange&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, SizeRange>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("min_bytes", self.min);
  visit("max_bytes", self.max);
  visit("winner", self.winner);
  visit("is_baseline", self.is_baseline);
  visit("extrapolated", self.extrapolated);
  visit("measured_sizes_bytes", self.measured_sizes);
}

/// Turns the decisions of one table (keys that differ in nothing but the message size, one family),
/// sorted by size, into ranges that cover every size from 0 on. The border between two measured
/// sizes is their geometric mean, which belongs to the smaller one. Where the winner's limits end
/// inside a range, the next variant of the same decision that can run there takes over; where none
/// can, the ranges leave a gap; so it does for variants that name a composition, whose parts no
/// reader of a table knows. Neighbours with equal winners are one range.
[[nodiscard]] std::vector<SizeRange> size_ranges(std::span<const Decision* const> decisions);

}  // namespace colltune
