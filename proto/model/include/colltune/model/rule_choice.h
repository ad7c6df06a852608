// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>

#include "colltune/vocabulary/decision.h"

// What to name where another library's rule is coarser than a decision: for several types,
// operators or worlds at once. All exports and NCCL's tuner choose by it.

namespace colltune {

/// Whether a rule can name the variant.
using CanName = std::function<bool(const Variant&)>;

/// How the variants do in one decision that a rule can name.
struct RuleStanding {
  /// The time over the fastest one's, by the printed variant; the baseline is "".
  std::map<std::string, double> regret;
  /// Those that are proven to beat the baseline, and the baseline.
  std::set<std::string> safe;
};
[[nodiscard]] RuleStanding standing_of(const Decision& decision, const CanName& can_name);

/// Of the variants that are safe in all of these, the one whose worst regret is the least; empty:
/// the baseline.
[[nodiscard]] std::string least_worst_regret(std::span<const RuleStanding> standings);

/// What was named at a measured size, and how all did there.
struct NamedAtSize {
  std::uint64_t size = 0;
  std::string name;  ///< as least_worst_regret; empty: the baseline
  std::span<const RuleStanding> standings;
};
/// The last size for which `low.name` is named, where `high` is the next larger measured size:
/// where the ratio of the two times, drawn as a straight line over logarithms, is 1. The baseline
/// stays up to a gain of 2 %, since a rule costs a call a look at it. A variant that was measured
/// at one of the two sizes alone ends there. The geometric mean of the sizes where neither was
/// measured at both, or where the ratios contradict the names. At least `low.size` and less than
/// `high.size`.
[[nodiscard]] std::uint64_t border_between_rules(const NamedAtSize& low, const NamedAtSize& high);

}  // namespace colltune
