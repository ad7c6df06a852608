// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "colltune/sweep/plan/sweep_plan.h"
#include "colltune/sweep/ranks/availability.h"

namespace colltune {

/// Adds the world of `ranks`. If the ranks of two worlds differ only in something that a topology
/// does not record, such as a library, the worlds are distinguished by all that their ranks can do,
/// so each has its own keys.
void add_world(std::vector<PlannedWorld>& worlds, const Availability& availability,
               std::vector<int> ranks);

/// Adds the partial world of `ranks`, unless the same ranks, or as many that are alike on other
/// nodes, already form a world.
void add_partial_world(std::vector<PlannedWorld>& worlds, const Availability& availability,
                       std::vector<int> ranks);

/// The kinds of the world's ranks, in the order in which they first appear.
[[nodiscard]] std::vector<int> kinds_of(const PlannedWorld& world,
                                        const Availability& availability);
/// The world's ranks whose kind is one of `kinds`, which must ascend.
[[nodiscard]] std::vector<int> ranks_of_kinds(const PlannedWorld& world,
                                              const Availability& availability,
                                              const std::vector<int>& kinds);

}  // namespace colltune
