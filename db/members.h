// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/topology.h"
#include "colltune/vocabulary/world_members.h"
#include "schema.h"

namespace colltune::db {

// What the members of measured worlds can do, and what ranks of different kinds run together. For
// transactions see journal.h; every read is checked against the counts in `meta`.

/// Adds what is not stored yet. `world` names `topology` by its digest.
void put_members(Connection& connection, const WorldMembers& world, const Topology& topology);
[[nodiscard]] std::vector<WorldMembers> read_members(Connection& connection);

/// Adds what is not stored yet.
void put_composition(Connection& connection, const Composition& composition);
[[nodiscard]] std::vector<Composition> read_compositions(Connection& connection);

}  // namespace colltune::db
