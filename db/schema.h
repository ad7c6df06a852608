// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "sqlite/row.h"

namespace colltune::db {

/// "CTun": marks a file as a tuning database (PRAGMA application_id).
inline constexpr std::int64_t application_id = 0x4354756e;

/// One step of the schema's history: migrates a file of version `to_version` - 1 (0: an empty file)
/// to `to_version`, in the caller's transaction, which also rewrites the row of `meta`. A released
/// step never changes.
struct Migration {
  std::int64_t to_version = 0;
  void (*apply)(Connection&) = nullptr;
  /// The step changes the form of decisions, so the digests of generations must be recomputed.
  bool changes_decisions = false;
  /// The step changes the form of keys or environments, so their digests must be recomputed.
  bool changes_keys = false;
};
/// Steps that are too long for the list.
void apply_version_3(Connection& connection);
void apply_version_4(Connection& connection);
void apply_version_6(Connection& connection);
void apply_version_7(Connection& connection);
void apply_version_8(Connection& connection);
void apply_version_9(Connection& connection);
void apply_version_10(Connection& connection);
/// All steps, ascending from 1. This program reads and writes the last one's version.
[[nodiscard]] std::span<const Migration> schema_history();

// The tables of the newest version.
[[nodiscard]] const Table& meta_table();
[[nodiscard]] const Table& environment_table();
[[nodiscard]] const Table& sweep_table();
[[nodiscard]] const Table& tuning_key_table();
[[nodiscard]] const Table& measurement_table();
[[nodiscard]] const Table& generation_table();
[[nodiscard]] const Table& decision_table();
[[nodiscard]] const Table& ranked_variant_table();
[[nodiscard]] const Table& variant_fit_table();
[[nodiscard]] const Table& failure_table();
[[nodiscard]] const Table& quarantine_table();
[[nodiscard]] const Table& world_members_table();
[[nodiscard]] const Table& composition_table();

/// The only row of table `meta`. Its counts reveal a lost row of another table.
struct Meta {
  std::string store_uuid;
  std::int64_t schema_version = 0;
  std::string schema_digest;           ///< of the text of the schema
  std::int64_t newest_generation = 0;  ///< 0: none
  std::int64_t generation_count = 0;
  std::int64_t highest_number = 0;  ///< the highest generation number ever given
  std::int64_t environment_count = 0;
  std::int64_t sweep_count = 0;
  std::int64_t failure_count = 0;
  std::int64_t quarantine_count = 0;
  std::int64_t world_members_count = 0;
  std::int64_t composition_count = 0;
};
[[nodiscard]] Meta read_meta(Connection& connection);
/// The same for a file of any version up to ours; fields that the version lacks are 0.
[[nodiscard]] Meta read_meta_of_any_version(Connection& connection);
void write_meta(Connection& connection, const Meta& meta);

/// Makes the open file usable by its owner: creates the schema in an empty file, checks an existing
/// one, and migrates an older one after making a backup next to it (`<path>.v<version>.backup`).
/// Throws as Store's constructor does.
void prepare_owned(Connection& connection, std::span<const Migration> history);
/// Checks that the open file is a tuning database, intact and of a version up to this one. Throws
/// as prepare_read does.
void prepare_peek(Connection& connection, std::span<const Migration> history);
/// Also checks that it is of exactly this version. Throws as StoreReader's constructor does.
void prepare_read(Connection& connection, std::span<const Migration> history);

/// True if the file is in WAL mode; false if it is a snapshot, or a copy in the old mode.
[[nodiscard]] bool is_in_wal_mode(const Connection& connection);

}  // namespace colltune::db
