// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ranking.h"

namespace colltune {

/// What is chosen between two measured sizes, with its entry at one of them.
struct RatioChoice {
  RankedVariant entry;
  double ratio = 1;  ///< its time over the baseline's, at the asked size
};

/// The variant of the least time over the baseline's between two sizes, among the baseline and
/// those that are proven at one of them; the baseline, unless another is expected to gain a tenth.
///
/// Machines and libraries change at certain sizes for all variants, so ratios to the baseline are
/// smoother over sizes than times. A ratio is interpolated geometrically over the logarithm of the
/// size. A variant that one of the two sizes lacks takes part if its limits exclude it there, with
/// its ratio at the other one. Sweeps try other parameters at other sizes: so the ratios of an
/// implementation's best at both sizes are interpolated too, and where that promises clearly more
/// than any single variant, the best one of the nearer size is chosen.
///
/// Empty if no baseline that can run the problem was measured at both sizes.
[[nodiscard]] std::optional<RatioChoice> choose_by_ratio(const Decision& lower,
                                                         const Decision& upper, const Asked& asked);

}  // namespace colltune
