// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/db/records.h"
#include "colltune/vocabulary/measurement.h"
#include "schema.h"

namespace colltune::db {

// Environments, sweeps, keys and measurements. Functions that write must be called in a write
// transaction. Functions that read several tables need a transaction if another connection may
// write.

std::string put_environment(Connection& connection, const Environment& environment);
/// Checked against the count in `meta`: a lost row gives Error(data_loss).
[[nodiscard]] std::vector<EnvironmentRecord> read_environments(Connection& connection);
[[nodiscard]] bool has_environment(Connection& connection, const std::string& digest);

/// The key's id; the key is added unless it is stored already. Error(failed_precondition) if its
/// environment is not stored, Error(invalid_argument) if its problem contradicts itself.
[[nodiscard]] std::int64_t put_key(Connection& connection, const TuningKey& key);
/// All keys by id, or those whose ids `condition` selects ("WHERE id IN …").
[[nodiscard]] std::map<std::int64_t, TuningKey> read_keys(Connection& connection,
                                                          const std::string& condition = "",
                                                          const Row& parameters = {});

/// The key with that digest; empty if none is stored.
[[nodiscard]] std::optional<TuningKey> find_key(Connection& connection, const std::string& digest);

/// Recomputes the digests of all environments and keys, and rewrites them wherever they are stored,
/// after a migration that changed the form of one of these. Must be called in a write transaction.
void restate_keys(Connection& connection);

void begin_sweep(Connection& connection, const SweepRecord& sweep);
/// Sets a sweep that is not complete to running.
void resume_sweep(Connection& connection, const std::string& uuid);
/// Error(not_found) if the sweep is not stored, Error(failed_precondition) if it is complete.
void require_open_sweep(Connection& connection, const std::string& uuid);
void finish_sweep(Connection& connection, const std::string& uuid, SweepState state,
                  const std::string& finished_at, const std::string& summary);
[[nodiscard]] std::vector<SweepRecord> read_sweeps(Connection& connection);

void append_measurements(Connection& connection, const std::string& sweep_uuid,
                         std::span<const Measurement> measurements);
/// In the order of appending, checked against each sweep's count and journal digest.
[[nodiscard]] std::vector<Measurement> read_measurements(
    Connection& connection, const std::optional<std::string>& sweep_uuid);

}  // namespace colltune::db
