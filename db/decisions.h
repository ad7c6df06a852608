// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/db/store.h"
#include "schema.h"

namespace colltune::db {

/// Adds a generation in which `decisions` replace those of equal key and family; rows of the others
/// stay unchanged. Its fits are what `fits_of` makes of all its decisions. Must be called in a
/// write transaction.
Generation put_generation(Connection& connection, std::span<const Decision> decisions,
                          const std::string& published_at, const FitMaker& fits_of);

/// Adds a generation with exactly the decisions of generation `number`, except for variants
/// quarantined since. Error(not_found) if there is no such generation, Error(failed_precondition)
/// if it is the newest. Must be called in a write transaction.
Generation put_generation_like(Connection& connection, std::uint64_t number,
                               const std::string& published_at, const FitMaker& fits_of);

/// All generations, oldest first.
[[nodiscard]] std::vector<GenerationRecord> read_generations(Connection& connection);

/// Recomputes the content digests of all generations, after a migration that changed the form of
/// decisions. Must be called in a write transaction.
void restate_generations(Connection& connection);

/// The newest generation, or the requested one, complete and checked against its content digest.
/// Error(not_found) if there is none.
[[nodiscard]] PublishedTable read_published(Connection& connection,
                                            const std::optional<std::uint64_t>& number);

}  // namespace colltune::db
