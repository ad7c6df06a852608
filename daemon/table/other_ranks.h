// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "colltune/vocabulary/fits/variant_fit.h"
#include "colltune/vocabulary/lookup.h"
#include "index.h"

namespace colltune {

/// A world for which nothing is decided, and what predicts it.
struct PredictedWorld {
  TuningKey key;  ///< without size
  const std::vector<const VariantFit*>* fits = nullptr;
  std::vector<const Curve*> measured;  ///< those with other numbers of ranks per node
};

/// The worlds of `ranks_per_node` that `fits` has for the curves, of the strictest numeric class
/// among them. Curves that were measured with different members predict nothing.
[[nodiscard]] std::vector<PredictedWorld> predicted_worlds(
    const std::vector<const Curve*>& measured, int ranks_per_node, const FitsOfWorlds& fits);

/// The answer for a world that was not measured: the variant of the least predicted time, among the
/// baselines and those that some measured world proves at a size next to the asked one. Those
/// proven and predicted to be faster than the baseline follow, then the baselines, then the others.
/// No time was measured, so none has samples. The caller fills in match and generation.
///
/// Throws Error(not_found) if no variant with a fit that reaches the size can run the problem.
[[nodiscard]] LookupAnswer answer_for_other_ranks(const PredictedWorld& world,
                                                  const LookupQuery& query);

}  // namespace colltune
