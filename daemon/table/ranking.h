// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/decision.h"

namespace colltune {

/// A problem to answer for that many ranks; its size is rounded.
struct Asked {
  Problem problem;
  int ranks = 1;
  /// Whether variants for certain members are ranked too. The asking members are then those that
  /// the variants' compositions name parts for.
  bool takes_composed = true;
  std::optional<CompositionMode> form{};  ///< for a mesh_reduce: the only form that is ranked
};

/// The ranking computed for an asked problem; empty if no variant can run it.
struct Ranking {
  std::vector<RankedVariant> ranked;
  std::string reason;
  Verdict verdict = Verdict::no_baseline;
  DecisionStatus status = DecisionStatus::provisional;
  Confirmation confirmation;
  /// Between two sizes: the times of the first entry at these. Those of the others are their
  /// medians.
  std::chrono::nanoseconds first_at_lower{};
  std::chrono::nanoseconds first_at_upper{};
};

/// Why `variant` cannot run the problem for the asking members, or does not guarantee the demanded
/// numeric class; empty if it can and does.
[[nodiscard]] std::string why_not(const RankedVariant& variant, const Asked& asked);

/// The entry of a variant that the decision ranks.
[[nodiscard]] const RankedVariant& entry_of(const Decision& decision, const Variant& variant);

/// Whether a decision proves `variant`, which means that it ranks before the baseline, if any.
[[nodiscard]] bool is_proven(const Decision& decision, const Variant& variant);

/// The decision for exactly this size, without the variants that cannot run the problem. If the
/// winner is removed, the next variant follows; the decision's order already places unproven ones
/// behind the baseline. What fresh launches confirmed about the winner does not hold for the next
/// one.
[[nodiscard]] Ranking rank_at(const Decision& decision, const Asked& asked);

/// For a size between two measured ones: ranks the variants that both rank, by interpolated median.
/// It is conservative. A variant other than the baseline comes first only if it ranks before the
/// baseline at both sizes; winners at either size are preferred. If a sweep tries other parameters
/// at each size, it is enough that the implementation ranks before the baseline at both; the nearer
/// size's parameters are used. Otherwise the baseline comes first. Without a baseline, the faster
/// of the two winners does. The result is confirmed only if both neighbours are, for this same
/// winner, and `kept` only if both are.
[[nodiscard]] Ranking rank_between(const Decision& lower, const Decision& upper,
                                   const Asked& asked);

/// Where between the two sizes, from 0 to 1, rank_between may put another variant first, or another
/// baseline before the others, if the same variants can run all sizes between them that are asked.
[[nodiscard]] std::vector<double> changes_of_rank(const Decision& lower, const Decision& upper,
                                                  const Asked& asked);

/// For a size outside the measured range: the ranking of the nearest size with extrapolated times.
/// Nothing was confirmed there.
[[nodiscard]] Ranking rank_beyond(const Decision& nearest, const Asked& asked);

}  // namespace colltune
