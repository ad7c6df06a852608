// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "colltune/vocabulary/decision.h"
#include "sqlite/connection.h"

namespace colltune::db {

/// Writes the whole database to its snapshot_path(): beside it first, checked, made durable,
/// renamed. `newest` is the generation that it must then answer with.
void write_snapshot(Connection& connection, const Generation& newest);

/// Makes up for what a kill between a publication's commit and its rename, a restored older
/// database or a lost snapshot leaves: afterwards the snapshot holds this database's newest
/// generation, and no number that the snapshot was seen to use is given again.
void heal_snapshot(Connection& connection);

}  // namespace colltune::db
