// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/journal/fit_maker.h"

#include "colltune/kernels/catalogue.h"
#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/error.h"

namespace colltune {

StepCounts step_counts_of(const Implementations& catalogue) {
  return
      [&catalogue](const TuningKey& key, const RankedVariant& ranked) -> std::optional<StepCount> {
        if (key.problem.mesh || !parts_named_by(ranked.variant).empty()) return {};
        const auto* const found = find_implementation(catalogue, ranked.variant.implementation);
        if (found == nullptr) return {};
        Problem problem = key.problem;
        problem.message_size = round_message_size(problem.collective, problem.data_type,
                                                  problem.message_size, key.topology.ranks);
        if (!why_outside(ranked.limits, problem, key.topology.ranks).empty()) return {};
        try {
          const Cost cost = found->cost(problem, key.topology, ranked.variant);
          return StepCount{.steps = cost.steps, .bytes_per_rank = cost.bytes_per_rank};
        } catch (const Error&) {
          // What has no schedule in a world has no steps there: that must not keep a sweep from
          // being published.
          return {};
        }
      };
}

FitMaker fit_maker_of(const Implementations& catalogue) {
  return [counts = step_counts_of(catalogue)](std::span<const Decision> decisions) {
    return fits_with_worlds(decisions, counts);
  };
}

}  // namespace colltune
