// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/decision.h"

namespace colltune {

/// A problem to be answered on so many ranks; its size is rounded.
struct Asked {
  Problem problem;
  int ranks = 1;
  /// Variants for certain members are ranked, too: the asking ones are those for which they say
  /// what each runs.
  bool takes_composed = true;
  std::optional<CompositionMode> form{};  ///< of a mesh_reduce: no other form is ranked
};

/// A ranking computed for an asked problem; empty where no variant can run it.
struct Ranking {
  std::vector<RankedVariant> ranked;
  std::string reason;
  Verdict verdict = Verdict::no_baseline;
  DecisionStatus status = DecisionStatus::provisional;
  Confirmation confirmation;
};

/// Empty where `variant` can run the problem for those who ask and guarantees the numeric class it
/// demands.
[[nodiscard]] std::string why_not(const RankedVariant& variant, const Asked& asked);

/// The decision of this very size without the variants that cannot run the problem. Where the
/// winner falls, the next one follows: the order of a decision puts what is not proven behind the
/// baseline. What fresh launches confirmed of the winner does not hold for it.
[[nodiscard]] Ranking rank_at(const Decision& decision, const Asked& asked);

/// Between two measured sizes: the variants ranked at both, by interpolated median. Conservative: a
/// variant other than the baseline comes first only if it stands before the baseline at both, the
/// winners of the neighbours before others; or, where a sweep tries other parameters at each, its
/// implementation does at both: then with the nearer size's. Else the baseline does. Without a
/// baseline the faster of the neighbours' winners does. Confirmed only where both neighbours are,
/// for this very winner; kept only where both are.
[[nodiscard]] Ranking rank_between(const Decision& lower, const Decision& upper,
                                   const Asked& asked);

/// Beyond the measured sizes: the nearest size's ranking with extrapolated times; nothing was
/// confirmed there.
[[nodiscard]] Ranking rank_beyond(const Decision& nearest, const Asked& asked);

}  // namespace colltune
