// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "snapshot.h"

#include "colltune/db/store.h"
#include "decisions.h"
#include "reading.h"
#include "schema.h"
#include "sqlite/file_system.h"

namespace colltune {

constexpr const char* snapshot_ending = ".snapshot";

std::filesystem::path snapshot_path(const std::filesystem::path& path) {
  auto snapshot = path;
  snapshot += snapshot_ending;
  return snapshot;
}

bool is_named_as_snapshot(const std::filesystem::path& path) {
  return path.extension() == snapshot_ending;
}

namespace db {
namespace {

std::filesystem::path unfinished_path(const Connection& connection) {
  auto path = snapshot_path(connection.path());
  path += ".tmp";
  return path;
}

void check_snapshot(const std::filesystem::path& file, const Generation& newest) {
  const auto connection = open_for_reading(file);
  const std::string result = connection->text("PRAGMA integrity_check(1)");
  if (result != "ok" || read_published(*connection, {}).generation != newest)
    throw Error(StatusCode::data_loss,
                file.string() + ": what was written is not what it should be: " + result);
}

/// The meta row of an existing, intact snapshot, which may be of an older version.
std::optional<Meta> peek(const std::filesystem::path& file) {
  try {
    if (!std::filesystem::is_regular_file(file)) return {};
    Connection connection(real_path(file), OpenMode::immutable);
    prepare_peek(connection, schema_history());
    return read_meta_of_any_version(connection);
  } catch (const Error&) {  // damaged or foreign: it is rewritten
    return {};
  }
}

}  // namespace

void write_snapshot(Connection& connection, const Generation& newest) {
  const auto unfinished = unfinished_path(connection);
  std::error_code ignored;
  std::filesystem::remove(unfinished, ignored);
  try {
    connection.execute("VACUUM INTO ?", {unfinished.string()});
    check_snapshot(unfinished, newest);
    sync_file(unfinished);
    rename_durably(unfinished, snapshot_path(connection.path()));
  } catch (...) {
    std::filesystem::remove(unfinished, ignored);
    throw;
  }
}

void heal_snapshot(Connection& connection) {
  std::error_code ignored;
  std::filesystem::remove(unfinished_path(connection), ignored);
  Meta meta = read_meta(connection);
  const auto snapshot = peek(snapshot_path(connection.path()));
  const bool is_ours = snapshot && snapshot->store_uuid == meta.store_uuid;
  if (is_ours && snapshot->highest_number > meta.highest_number) {
    Transaction transaction(connection, Transaction::Kind::write);
    meta.highest_number = snapshot->highest_number;
    write_meta(connection, meta);
    transaction.commit();
  }
  const bool fits = is_ours && snapshot->newest_generation == meta.newest_generation &&
                    snapshot->schema_version == meta.schema_version;
  if (meta.newest_generation != 0 && !fits)
    write_snapshot(connection, read_published(connection, {}).generation);
}

}  // namespace db
}  // namespace colltune
