// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/db/records.h"
#include "schema.h"

namespace colltune::db {

/// Adds a generation with `decisions` in the place of those of equal key and family; rows of the
/// others stay as they are. Wants a write transaction around it.
Generation put_generation(Connection& connection, std::span<const Decision> decisions,
                          const std::string& published_at);

/// Adds a generation with exactly the decisions of generation `number`, which goes on without what
/// was quarantined since. Error(not_found) where there is no such generation,
/// Error(failed_precondition) where it is the newest. Wants a write transaction around it.
Generation put_generation_like(Connection& connection, std::uint64_t number,
                               const std::string& published_at);

/// All generations, oldest first.
[[nodiscard]] std::vector<GenerationRecord> read_generations(Connection& connection);

/// Takes the content digests of all generations anew, after a migration that changed what decisions
/// look like. Wants a write transaction around it.
void restate_generations(Connection& connection);

/// The newest generation, or that very one, complete and checked against its content digest.
/// Error(not_found) where there is none.
[[nodiscard]] PublishedTable read_published(Connection& connection,
                                            const std::optional<std::uint64_t>& number);

}  // namespace colltune::db
