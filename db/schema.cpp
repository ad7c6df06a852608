// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "schema.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>

#include "colltune/db/records.h"
#include "colltune/vocabulary/canonical.h"
#include "decisions.h"
#include "journal.h"
#include "sqlite/columns.h"
#include "sqlite/file_system.h"

namespace colltune::db {
namespace {

constexpr std::string_view file_magic("SQLite format 3\0", 16);
/// Part of the first table's text, so that a file with a damaged header can still be recognised.
constexpr std::string_view mark = "-- colltune tuning database";
constexpr std::size_t mark_search_bytes = 1 << 20;

[[noreturn]] void fail_damaged(const Connection& connection, const std::string& what) {
  throw Error(StatusCode::data_loss, connection.path().string() + ": damaged: " + what +
                                         "; restore a backup, or copy the snapshot beside it to "
                                         "its place");
}

[[noreturn]] void fail_foreign(const Connection& connection, const std::string& what) {
  throw Error(StatusCode::failed_precondition, connection.path().string() +
                                                   " is not a colltune database (" + what +
                                                   "); it is left as it is");
}

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// Checks what SQLite's own checks do not cover in the header: whose file it is, and values that
/// SQLite accepts unchecked. Offsets are from SQLite's fileformat2.html.
void check_header(const Connection& connection) {
  const std::string header = connection.read_start_of_file(100);
  const auto fail = [&](const std::string& what) {
    const std::string start = connection.read_start_of_file(mark_search_bytes);
    if (start.find(mark) != std::string::npos) fail_damaged(connection, "its header: " + what);
    fail_foreign(connection, what);
  };
  if (header.size() < 100 || header.substr(0, 16) != file_magic)
    fail("it does not begin as an SQLite file");
  if (big_endian(header, 68) != static_cast<std::uint32_t>(application_id))
    fail("its application id is " + std::to_string(big_endian(header, 68)) + ", not " +
         std::to_string(application_id));
  const bool known_modes = (header[18] == 1 || header[18] == 2) && header[19] == header[18];
  if (!known_modes || big_endian(header, 44) != 4 || big_endian(header, 56) != 1)
    fail("unknown format numbers");
}

std::string digest_of_schema(Connection& connection) {
  std::string text;
  Statement statement(connection.handle(),
                      "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema "
                      "WHERE name NOT LIKE 'sqlite_stat%' ORDER BY type, name");
  statement.start({});
  while (statement.step())
    for (int i = 0; i < statement.columns(); ++i) {
      const Value value = statement.column(i);
      const auto* string = std::get_if<std::string>(&value);
      append_canonical(text, string ? *string : std::string());
    }
  return digest_of_text(text);
}

void quick_check(Connection& connection) {
  const std::string result = connection.text("PRAGMA quick_check(1)");
  if (result != "ok") fail_damaged(connection, result);
}

/// Does what quick_check does, and checks that the indexes match their tables. The owner must learn
/// of damage before a sweep measures for hours, not when it publishes.
void whole_check(Connection& connection) {
  const std::string result = connection.text("PRAGMA integrity_check(1)");
  if (result != "ok") fail_damaged(connection, result);
}

/// The version of an intact file. `meta` repeats it, so that a damaged header is not taken for a
/// newer file.
std::int64_t checked_version(Connection& connection, std::span<const Migration> history) {
  const std::int64_t version = connection.integer("PRAGMA user_version");
  std::int64_t repeated = -1;
  try {
    repeated = connection.integer("SELECT schema_version FROM meta WHERE id = 1");
  } catch (const Error& error) {
    fail_damaged(connection, error.what());
  }
  if (version != repeated)
    fail_damaged(connection, "its version is " + std::to_string(version) + " in the header and " +
                                 std::to_string(repeated) + " in table meta");
  const std::int64_t ours = history.back().to_version;
  if (version > ours)
    throw Error(StatusCode::failed_precondition,
                connection.path().string() + " is of schema version " + std::to_string(version) +
                    ", written by a newer colltune; this one reads versions up to " +
                    std::to_string(ours) + "; it is left as it is");
  return version;
}

void check_schema(Connection& connection) {
  Meta meta;
  try {
    meta = read_meta(connection);
  } catch (const SqliteError& error) {
    // The version is ours, so SQLite can refuse our own SQL only if the text of the schema was
    // changed.
    if (error.code() != StatusCode::internal) throw;
    fail_damaged(connection, error.what());
  }
  if (meta.schema_digest != digest_of_schema(connection))
    fail_damaged(connection, "the text of its schema was changed");
}

std::string new_uuid() {
  std::random_device random;
  std::array<std::uint32_t, 4> words{};
  for (auto& word : words) word = random();
  words[1] = (words[1] & 0xffff0fffU) | 0x00004000U;  // version 4, RFC 4122
  words[2] = (words[2] & 0x3fffffffU) | 0x80000000U;
  std::array<char, 37> text{};
  std::snprintf(text.data(), text.size(), "%08x-%04x-%04x-%04x-%04x%08x", words[0], words[1] >> 16,
                words[1] & 0xffffU, words[2] >> 16, words[2] & 0xffffU, words[3]);
  return text.data();
}

/// Whether a step after `from` has the property.
bool has_step(std::span<const Migration> history, std::int64_t from, bool Migration::*property) {
  return std::ranges::any_of(
      history, [&](const Migration& step) { return step.to_version > from && step.*property; });
}

/// A step that changes keys may unite rows of these tables, so that their counts are taken anew;
/// before that, none may be missing.
void check_counts(Connection& connection, const Meta& meta, std::int64_t version) {
  if (connection.integer("SELECT count(*) FROM environment") != meta.environment_count)
    fail_row(connection, "environment", meta.environment_count, "is missing");
  constexpr std::int64_t first_with_quarantine = 2;
  if (version >= first_with_quarantine &&
      connection.integer("SELECT count(*) FROM quarantine") != meta.quarantine_count)
    fail_row(connection, "quarantine", meta.quarantine_count, "is missing");
}

/// Runs the steps after `from` and records the new version, all in one transaction.
void migrate(Connection& connection, std::span<const Migration> history, std::int64_t from) {
  Transaction transaction(connection, Transaction::Kind::write);
  Meta meta;
  if (from == 0)
    meta.store_uuid = new_uuid();
  else
    meta = read_meta_of_any_version(connection);
  const bool changes_keys = from != 0 && has_step(history, from, &Migration::changes_keys);
  if (changes_keys) check_counts(connection, meta, from);
  for (const Migration& step : history)
    if (step.to_version > from) step.apply(connection);
  if (changes_keys) {
    meta.environment_count = connection.integer("SELECT count(*) FROM environment");
    meta.quarantine_count = connection.integer("SELECT count(*) FROM quarantine");
  }
  meta.schema_version = history.back().to_version;
  meta.schema_digest = digest_of_schema(connection);
  if (from == 0) connection.execute("PRAGMA application_id=" + std::to_string(application_id));
  connection.execute("PRAGMA user_version=" + std::to_string(meta.schema_version));
  write_meta(connection, meta);
  if (changes_keys) restate_keys(connection);
  if (from != 0 && has_step(history, from, &Migration::changes_decisions))
    restate_generations(connection);
  transaction.commit();
}

void back_up(Connection& connection, std::int64_t version) {
  auto backup = connection.path();
  backup += ".v" + std::to_string(version) + ".backup";
  auto unfinished = backup;
  unfinished += ".tmp";
  std::filesystem::remove(unfinished);
  connection.execute("VACUUM INTO ?", {unfinished.string()});
  sync_file(unfinished);
  rename_durably(unfinished, backup);
}

}  // namespace

void prepare_owned(Connection& connection, std::span<const Migration> history) {
  if (!connection.read_start_of_file(1).empty()) check_header(connection);
  connection.configure();
  // This is also the state after a kill in the middle of the first transaction, once SQLite has
  // rolled it back.
  const bool is_new = connection.integer("PRAGMA user_version") == 0 &&
                      connection.integer("SELECT count(*) FROM sqlite_schema") == 0;
  if (is_new) {
    // In the old journal mode, so that the main file's header shows at once whose file it is.
    migrate(connection, history, 0);
  } else {
    whole_check(connection);
    const std::int64_t version = checked_version(connection, history);
    if (version == history.back().to_version) {
      check_schema(connection);
    } else {
      back_up(connection, version);
      migrate(connection, history, version);
    }
  }
  const std::string mode = connection.text("PRAGMA journal_mode=WAL");
  if (mode != "wal")
    throw Error(StatusCode::failed_precondition,
                connection.path().string() +
                    ": SQLite cannot use its write-ahead log here (mode '" + mode +
                    "'); use a local disk");
}

void prepare_peek(Connection& connection, std::span<const Migration> history) {
  check_header(connection);
  connection.configure();
  quick_check(connection);
  (void)checked_version(connection, history);
}

void prepare_read(Connection& connection, std::span<const Migration> history) {
  prepare_peek(connection, history);
  const std::int64_t version = checked_version(connection, history);
  if (version < history.back().to_version)
    throw Error(StatusCode::failed_precondition,
                connection.path().string() + " is of schema version " + std::to_string(version) +
                    "; this program reads version " + std::to_string(history.back().to_version) +
                    ": its owner (colltune-agent, colltune import) migrates it when it next opens "
                    "it");
  check_schema(connection);
}

bool is_in_wal_mode(const Connection& connection) {
  const std::string header = connection.read_start_of_file(20);
  return header.size() == 20 && (header[18] == 2 || header[19] == 2);
}

}  // namespace colltune::db
