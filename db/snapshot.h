// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "colltune/vocabulary/decision.h"
#include "sqlite/connection.h"

namespace colltune::db {

/// Writes the whole database to its snapshot_path(): to a temporary file next to it, which is
/// checked, made durable and renamed. The snapshot must then answer with the generation `newest`.
void write_snapshot(Connection& connection, const Generation& newest);

/// Repairs the state after a kill between a publication's commit and its rename, a restored older
/// database or a lost snapshot. Afterwards the snapshot holds this database's newest generation,
/// and no number that the snapshot was seen to use will be assigned again.
void heal_snapshot(Connection& connection);

}  // namespace colltune::db
