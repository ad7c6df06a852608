// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "colltune/vocabulary/decision.h"

namespace colltune {

/// The message sizes for which one variant is to be used, as in other libraries' tuning files.
struct SizeRange {
  Bytes min;                 ///< the first size of the range
  std::optional<Bytes> max;  ///< the last size; empty: every size from `min` on
  Variant winner;
  bool is_baseline = false;
  bool extrapolated = false;          ///< below the smallest or above the largest measured size
  std::vector<Bytes> measured_sizes;  ///< those that the range is based on

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

/// The last size for which what was decided at `a` is used, where the next larger measured size is
/// `b`: their geometric mean, rounded down; at least `a` and less than `b`.
[[nodiscard]] std::uint64_t border_between_sizes(std::uint64_t a, std::uint64_t b);

/// Turns the decisions of one table (one family, keys that differ only in the message size), sorted
/// by size, into ranges that cover every size from 0 on. The border between two measured sizes is
/// their geometric mean, which belongs to the smaller one. If the winner's limits end inside a
/// range, the next variant of the same decision that can run there takes over. If none can, the
/// ranges leave a gap. Variants that name a composition are passed over in the same way, because
/// readers of a table do not know its parts. Neighbouring ranges with equal winners are merged.
[[nodiscard]] std::vector<SizeRange> size_ranges(std::span<const Decision* const> decisions);

}  // namespace colltune
