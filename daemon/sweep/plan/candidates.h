// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "colltune/sweep/plan/sweep_plan.h"
#include "selection.h"

namespace colltune {

/// What all cells of a plan are made from. All of it must outlive the making of the plan.
struct PlanInputs {
  const SweepSpec& spec;
  const Availability& availability;
  const Implementations& catalogue;
  const Findings& findings;
  std::map<Collective, std::vector<const Implementation*>> selected;
  std::map<std::pair<std::string, std::string>, std::string> quarantined;  ///< key, variant
};

/// What races for a key, and what is skipped.
struct Candidates {
  std::vector<PlannedVariant> variants;  ///< the baseline first
  std::vector<Skipped> skipped;
  /// Sets of ranks of the launch that can do the same, if not all of the world can.
  std::set<std::vector<int>> like_ranks;
};

/// All single variants, compositions and mesh forms for `cell`'s key in `world`. `more` holds
/// variants to try in addition to the search spaces. `overrides` records which parameters were
/// found.
[[nodiscard]] Candidates candidates_of(const PlanInputs& inputs, const PlannedWorld& world,
                                       const Cell& cell, std::span<const Variant> more,
                                       ParameterOverrides& overrides);

}  // namespace colltune
