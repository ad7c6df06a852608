// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "colltune/vocabulary/decision.h"

namespace colltune {

/// A problem to be answered on so many ranks; its size is rounded.
struct Asked {
  Problem problem;
  int ranks = 1;
};

/// A ranking computed for an asked problem; empty where no variant can run it.
struct Ranking {
  std::vector<RankedVariant> ranked;
  std::string reason;
};

/// Empty where `variant` can run the problem and guarantees the numeric class it demands.
[[nodiscard]] std::string why_not(const RankedVariant& variant, const Asked& asked);

/// The decision of this very size without the variants that cannot run the problem. Where the
/// winner falls, the fastest variant whose interval lies wholly below the baseline's comes first,
/// else the baseline.
[[nodiscard]] Ranking rank_at(const Decision& decision, const Asked& asked);

/// Between two measured sizes: the variants ranked at both, by interpolated median. Conservative: a
/// variant other than the baseline comes first only if it is the winner of one neighbour and beats
/// the baseline at both; else the baseline does. Without a baseline the faster of the neighbours'
/// winners does.
[[nodiscard]] Ranking rank_between(const Decision& lower, const Decision& upper,
                                   const Asked& asked);

/// Beyond the measured sizes: the nearest size's ranking with extrapolated times.
[[nodiscard]] Ranking rank_beyond(const Decision& nearest, const Asked& asked);

}  // namespace colltune
