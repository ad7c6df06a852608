// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "colltune/sweep/plan/sweep_plan.h"
#include "colltune/vocabulary/canonical.h"
#include "trials.h"

namespace colltune::fakes {

/// Measurements of everything that `plan` measures, as if each variant had taken `time_of` ns.
inline std::vector<Measurement> earlier_times(
    const SweepPlan& plan, const std::function<double(const std::string& variant)>& time_of) {
  std::vector<Measurement> measured;
  for (const Cell& cell : plan.cells)
    for (const PlannedVariant& planned : cell.variants) {
      if (planned.is_twin) continue;
      const std::string variant = to_string(planned.variant);
      measured.push_back(literals::trial({.variant = variant,
                                          .median = time_of(variant),
                                          .is_baseline = planned.is_baseline,
                                          .family = planned.family},
                                         cell.key));
    }
  return measured;
}

}  // namespace colltune::fakes
