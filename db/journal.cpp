// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "journal.h"

#include <cmath>

#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/field_limits.h"
#include "sqlite/columns.h"

namespace colltune::db {
namespace {

/// A sweep, with what its row records about its measurements.
struct StoredSweep {
  std::int64_t id = 0;
  SweepRecord record;
  std::int64_t measurement_count = 0;
  /// A chain over the checksums of the sweep's measurements, in order.
  std::string journal_digest;
};

Row row_of(const StoredSweep& sweep) {
  Row row;
  put_fields(row, sweep.record);
  row.emplace_back(sweep.measurement_count);
  row.emplace_back(sweep.journal_digest);
  return row;
}

std::vector<StoredSweep> load_sweeps(Connection& connection) {
  std::vector<StoredSweep> sweeps;
  read_rows(connection, sweep_table(), "ORDER BY id", {},
            [&](RowCursor& cursor, std::int64_t id, const Row&) {
              StoredSweep sweep{.id = id};
              cursor.get_fields(sweep.record);
              cursor.get(sweep.measurement_count);
              cursor.get(sweep.journal_digest);
              if (id != static_cast<std::int64_t>(sweeps.size()) + 1)
                throw Error(StatusCode::data_loss, "it follows a gap");
              sweeps.push_back(std::move(sweep));
            });
  const std::int64_t expected = read_meta(connection).sweep_count;
  if (static_cast<std::int64_t>(sweeps.size()) != expected)
    fail_row(connection, "sweep", expected, "is missing");
  return sweeps;
}

StoredSweep find_sweep(Connection& connection, const std::string& uuid) {
  for (auto& sweep : load_sweeps(connection))
    if (sweep.record.uuid == uuid) return std::move(sweep);
  throw Error(StatusCode::not_found,
              connection.path().string() + ": there is no sweep '" + uuid + "'");
}

std::string extend_journal(const std::string& digest, const std::string& checksum) {
  return digest_of_text(digest + checksum);
}

Row row_of(const Measurement& measurement, std::int64_t sweep_id, std::int64_t key_id) {
  Row row{sweep_id, key_id};
  put_fields(row, measurement);
  return row;
}

void require_open(const StoredSweep& sweep) {
  if (sweep.record.state == SweepState::complete)
    throw Error(
        StatusCode::failed_precondition,
        "sweep '" + sweep.record.uuid + "' is complete; a new sweep takes new measurements");
}

}  // namespace

std::string put_environment(Connection& connection, const Environment& environment) {
  check_value(environment, FieldPath{.name = "environment"});
  std::string digest = digest_of(environment);
  if (has_environment(connection, digest)) return digest;
  Meta meta = read_meta(connection);
  Row row{digest};
  put_fields(row, environment);
  insert_row(connection, environment_table(), ++meta.environment_count, row);
  write_meta(connection, meta);
  return digest;
}

std::vector<EnvironmentRecord> read_environments(Connection& connection) {
  std::vector<EnvironmentRecord> records;
  read_rows(connection, environment_table(), "ORDER BY id", {},
            [&](RowCursor& cursor, std::int64_t id, const Row&) {
              EnvironmentRecord record;
              cursor.get(record.digest);
              cursor.get_fields(record.environment);
              if (id != static_cast<std::int64_t>(records.size()) + 1)
                throw Error(StatusCode::data_loss, "it follows a gap");
              records.push_back(std::move(record));
            });
  const std::int64_t expected = read_meta(connection).environment_count;
  if (static_cast<std::int64_t>(records.size()) != expected)
    fail_row(connection, "environment", expected, "is missing");
  return records;
}

bool has_environment(Connection& connection, const std::string& digest) {
  bool found = false;
  for_each_row(connection, environment_table(), "WHERE digest = ?", {digest},
               [&](std::int64_t, const Row&) { found = true; });
  return found;
}

std::int64_t put_key(Connection& connection, const TuningKey& key) {
  Row row{digest_of_value(key)};
  put_fields(row, key);
  std::optional<std::int64_t> id;
  for_each_row(connection, tuning_key_table(), "WHERE digest = ?", {row.front()},
               [&](std::int64_t found, const Row& stored) {
                 if (stored != row)
                   fail_row(connection, "tuning_key", found, "does not fit its digest");
                 id = found;
               });
  if (id) return *id;
  check(key.problem);
  if (!has_environment(connection, key.environment_digest))
    throw Error(StatusCode::failed_precondition,
                "key " + describe(key.problem) + " names environment '" + key.environment_digest +
                    "', which is not stored; put_environment comes first");
  id = next_id(connection, tuning_key_table());
  insert_row(connection, tuning_key_table(), *id, row);
  return *id;
}

std::map<std::int64_t, TuningKey> read_keys(Connection& connection, const std::string& condition,
                                            const Row& parameters) {
  std::map<std::int64_t, TuningKey> keys;
  read_rows(connection, tuning_key_table(), condition, parameters,
            [&](RowCursor& cursor, std::int64_t id, const Row&) {
              std::string digest;
              TuningKey key;
              cursor.get(digest);
              cursor.get_fields(key);
              keys.emplace(id, std::move(key));
            });
  return keys;
}

std::optional<TuningKey> find_key(Connection& connection, const std::string& digest) {
  const auto keys = read_keys(connection, "WHERE digest = ?", {digest});
  if (keys.empty()) return {};
  return keys.begin()->second;
}

void restate_keys(Connection& connection) {
  connection.execute("PRAGMA defer_foreign_keys=ON");
  std::map<std::string, std::string> renamed;
  std::int64_t id = 0;
  for (const EnvironmentRecord& record : read_environments(connection)) {
    const std::string digest = digest_of(record.environment);
    renamed.emplace(record.digest, digest);
    Row row{digest};
    put_fields(row, record.environment);
    update_row(connection, environment_table(), ++id, row);
  }
  const auto new_name = [&](std::string& digest, std::string_view table, std::int64_t row) {
    const auto found = renamed.find(digest);
    if (found == renamed.end()) fail_row(connection, table, row, "names a missing environment");
    digest = found->second;
  };
  for (StoredSweep& sweep : load_sweeps(connection)) {
    new_name(sweep.record.environment_digest, "sweep", sweep.id);
    update_row(connection, sweep_table(), sweep.id, row_of(sweep));
  }
  for (auto& [key_id, key] : read_keys(connection)) {
    new_name(key.environment_digest, "tuning_key", key_id);
    Row row{digest_of_value(key)};
    put_fields(row, key);
    update_row(connection, tuning_key_table(), key_id, row);
  }
}

void begin_sweep(Connection& connection, const SweepRecord& sweep) {
  if (sweep.uuid.empty()) throw Error(StatusCode::invalid_argument, "a sweep needs a uuid");
  for (const auto& stored : load_sweeps(connection))
    if (stored.record.uuid == sweep.uuid)
      throw Error(StatusCode::already_exists,
                  connection.path().string() + ": sweep '" + sweep.uuid + "' was begun before");
  if (!has_environment(connection, sweep.environment_digest))
    throw Error(StatusCode::failed_precondition,
                "sweep '" + sweep.uuid + "' names environment '" + sweep.environment_digest +
                    "', which is not stored; put_environment comes first");
  Meta meta = read_meta(connection);
  const StoredSweep stored{.id = ++meta.sweep_count, .record = sweep};
  insert_row(connection, sweep_table(), stored.id, row_of(stored));
  write_meta(connection, meta);
}

void require_open_sweep(Connection& connection, const std::string& uuid) {
  require_open(find_sweep(connection, uuid));
}

void resume_sweep(Connection& connection, const std::string& uuid) {
  StoredSweep sweep = find_sweep(connection, uuid);
  require_open(sweep);
  sweep.record.state = SweepState::running;
  sweep.record.finished_at.clear();
  sweep.record.summary.clear();
  update_row(connection, sweep_table(), sweep.id, row_of(sweep));
}

void finish_sweep(Connection& connection, const std::string& uuid, SweepState state,
                  const std::string& finished_at, const std::string& summary) {
  if (state == SweepState::running)
    throw Error(StatusCode::invalid_argument,
                "a sweep finishes as complete, partial or failed, not as running");
  StoredSweep sweep = find_sweep(connection, uuid);
  require_open(sweep);
  sweep.record.state = state;
  sweep.record.finished_at = finished_at;
  sweep.record.summary = summary;
  update_row(connection, sweep_table(), sweep.id, row_of(sweep));
}

std::vector<SweepRecord> read_sweeps(Connection& connection) {
  std::vector<SweepRecord> records;
  for (auto& sweep : load_sweeps(connection)) records.push_back(std::move(sweep.record));
  return records;
}

void append_measurements(Connection& connection, const std::string& sweep_uuid,
                         std::span<const Measurement> measurements) {
  StoredSweep sweep = find_sweep(connection, sweep_uuid);
  require_open(sweep);
  std::int64_t id = next_id(connection, measurement_table());
  for (const Measurement& measurement : measurements) {
    const Conditions& seen = measurement.conditions;
    if (!std::isfinite(seen.steal) || !std::isfinite(seen.kept_waiting.value_or(0)) ||
        !std::isfinite(seen.device_share.value_or(0)))
      throw Error(StatusCode::invalid_argument,
                  "the steal index, the share of time kept waiting, or that of the device, of " +
                      to_string(measurement.variant) + " for " + describe(measurement.key.problem) +
                      " is no number");
    const Row row = row_of(measurement, sweep.id, put_key(connection, measurement.key));
    try {
      insert_row(connection, measurement_table(), id, row);
    } catch (const SqliteError& error) {
      if (!error.is_duplicate()) throw;
      throw Error(StatusCode::already_exists, "sweep '" + sweep_uuid + "' already has " +
                                                  to_string(measurement.variant) +
                                                  (measurement.is_twin ? " as twin" : "") +
                                                  " in pass " + std::to_string(measurement.pass) +
                                                  " for " + describe(measurement.key.problem) +
                                                  " on " + describe(measurement.key.topology));
    }
    sweep.journal_digest =
        extend_journal(sweep.journal_digest, row_checksum(measurement_table(), id, row));
    ++sweep.measurement_count;
    ++id;
  }
  update_row(connection, sweep_table(), sweep.id, row_of(sweep));
}

std::vector<Measurement> read_measurements(Connection& connection,
                                           const std::optional<std::string>& sweep_uuid) {
  std::map<std::int64_t, StoredSweep> sweeps;
  if (sweep_uuid) {
    StoredSweep sweep = find_sweep(connection, *sweep_uuid);
    sweeps.emplace(sweep.id, std::move(sweep));
  } else {
    for (auto& sweep : load_sweeps(connection)) sweeps.emplace(sweep.id, std::move(sweep));
  }
  struct Seen {
    std::int64_t count = 0;
    std::string digest;
  };
  std::map<std::int64_t, Seen> seen;
  const auto keys = read_keys(connection);
  std::vector<Measurement> measurements;
  read_rows(connection, measurement_table(),
            sweep_uuid ? "WHERE sweep_id = ? ORDER BY id" : "ORDER BY id",
            sweep_uuid ? Row{sweeps.begin()->first} : Row{},
            [&](RowCursor& cursor, std::int64_t id, const Row& row) {
              std::int64_t sweep_id = 0;
              std::int64_t key_id = 0;
              Measurement measurement;
              cursor.get(sweep_id);
              cursor.get(key_id);
              cursor.get_fields(measurement);
              const auto key = keys.find(key_id);
              if (key == keys.end())
                throw Error(StatusCode::data_loss, "its key, row " + std::to_string(key_id) +
                                                       " of tuning_key, is missing");
              measurement.key = key->second;
              Seen& sum = seen[sweep_id];
              ++sum.count;
              sum.digest = extend_journal(sum.digest, row_checksum(measurement_table(), id, row));
              measurements.push_back(std::move(measurement));
            });
  for (const auto& [id, sweep] : sweeps)
    if (seen[id].count != sweep.measurement_count || seen[id].digest != sweep.journal_digest)
      fail_row(connection, "sweep", id,
               "has " + std::to_string(seen[id].count) + " measurements that do not fit the " +
                   std::to_string(sweep.measurement_count) + " that were appended");
  if (seen.size() > sweeps.size())
    fail_row(connection, "measurement", 0, "belongs to a sweep that is missing");
  return measurements;
}

}  // namespace colltune::db
