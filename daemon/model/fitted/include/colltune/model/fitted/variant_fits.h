// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "colltune/model/fitted/alpha_beta.h"
#include "colltune/model/fitted/curve_set.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/fits/variant_fit.h"

namespace colltune {

/// A fit for each variant that the decisions of a generation rank at two sizes or more of one
/// problem, topology, environment and regime, by key and variant. A variant that several families
/// rank is taken from the decisions over all families, else from those of the first family by name.
/// Times that are not above 0 are left out. Depends on the decisions alone, not on their order.
///
/// Between two sizes the line through both holds; beyond the last one the line through the last
/// three, as in time_at(). Siblings do not correct it: at a size that no variant was measured at
/// they say nothing. The intervals are conformal (Vovk et al. 2005): each time is left out and
/// predicted from the others of its variant, and the interval keeps 90 % of these errors, apart by
/// where the size lies. They are those of the problem, where it has at least ten, else those of the
/// world; with fewer, it is half to twice.
///
/// The work is n log n in the number of ranked variants: 10^4 decisions of ten take below 1 s.
[[nodiscard]] std::vector<VariantFit> fits_of(std::span<const Decision> decisions);

/// The line that gives the time at a size, and its interval. Which one it is changes at `from` of
/// the fit's segments alone, and just above the last one's.
struct FittedLine {
  AlphaBeta line;
  SizePosition position = SizePosition::between;
  FitInterval interval;
};
[[nodiscard]] FittedLine line_at(const VariantFit& fit, Bytes size);

/// The time at a size, in ns, with its interval. Also at a measured size: callers ask for others
/// only. Expects a fit that check_value accepts.
[[nodiscard]] FittedTime predict(const VariantFit& fit, Bytes size);

/// Whether the size is at most this many times beyond, or below, the sizes that the fit rests on.
inline constexpr std::uint64_t most_extrapolation = 4;
[[nodiscard]] bool reaches(const VariantFit& fit, Bytes size);

}  // namespace colltune
