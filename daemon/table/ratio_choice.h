// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "index.h"
#include "lower_envelope.h"
#include "rank_around.h"

namespace colltune {

/// As a logarithm of a ratio of times: what a variant must be expected to gain over the baseline at
/// a size that was not measured. Chosen as ratio_choice.cpp's constant; from 0.05 to 0.15 the
/// choices are nearly the same.
inline constexpr double least_log_gain = 0.1;

/// What shows that a variant is faster than the baseline.
enum class Shown {
  proven,       ///< the decision at one of the sizes around ranks it before the baseline
  clear_at_two  ///< clearly faster at two sizes that lack proof
};

/// What is chosen between two measured sizes, with its entry at one of them.
struct RatioChoice {
  RankedVariant entry;
  UnitLine log_ratio;        ///< of its time over the baseline's, from the lower size to the upper
  double ratio = 1;          ///< its time over the baseline's, at the asked size
  Shown by = Shown::proven;  ///< where it is no baseline
};

/// The variant of the least time over the baseline's between two sizes, among the baseline and
/// those that are shown to be faster; the baseline, unless another is expected to gain a tenth.
/// Expects both neighbours.
///
/// A variant is shown to be faster if it is proven at one of the two sizes, or clearly faster at
/// both, where these lack proof (shown_faster.h): a sweep of few samples proves little at any one
/// size, but seldom errs twice the same way.
///
/// Machines and libraries change at certain sizes for all variants, so ratios to the baseline are
/// smoother over sizes than times. A ratio is interpolated geometrically over the logarithm of the
/// size. A variant that one of the two sizes lacks takes part if its limits exclude it there, with
/// its ratio at the other one; if it is not proven there, the size behind must show it too. Sweeps
/// try other parameters at other sizes: so the ratios of an implementation's best at both sizes are
/// interpolated too, and where that promises clearly more than any single variant, the best one of
/// the nearer size is chosen.
///
/// Empty if no baseline that can run the problem was measured at both sizes.
[[nodiscard]] std::optional<RatioChoice> choose_by_ratio(const Curve& curve,
                                                         const Neighbours& around,
                                                         const Asked& asked);

/// Where between the two sizes, from 0 to 1, choose_by_ratio may choose something else, if the same
/// variants can run all sizes between them that are asked. Some of the numbers lie outside.
[[nodiscard]] std::vector<double> changes_of_ratio(const Curve& curve, const Neighbours& around,
                                                   const Asked& asked);

}  // namespace colltune
