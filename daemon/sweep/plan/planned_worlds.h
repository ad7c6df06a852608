// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "colltune/sweep/plan/sweep_plan.h"
#include "colltune/sweep/ranks/availability.h"

namespace colltune {

/// Adds the world of `ranks`. Worlds whose ranks differ in what no topology tells apart, say in a
/// library, are told apart by all that their ranks can do: each has keys of its own.
void add_world(std::vector<PlannedWorld>& worlds, const Availability& availability,
               std::vector<int> ranks);

/// Unless such a world is there: of these ranks, or of as many that are the same on other nodes.
void add_partial_world(std::vector<PlannedWorld>& worlds, const Availability& availability,
                       std::vector<int> ranks);

/// In the order in which the world's ranks show them.
[[nodiscard]] std::vector<int> kinds_of(const PlannedWorld& world,
                                        const Availability& availability);
/// The world's ranks that are of one of `kinds`, which ascend.
[[nodiscard]] std::vector<int> ranks_of_kinds(const PlannedWorld& world,
                                              const Availability& availability,
                                              const std::vector<int>& kinds);

}  // namespace colltune
