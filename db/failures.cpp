// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "failures.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "journal.h"
#include "sqlite/columns.h"

namespace colltune {

std::optional<Decision> without_quarantined(Decision decision,
                                            std::span<const QuarantineRecord> quarantines) {
  std::string left_out;
  std::erase_if(decision.ranked, [&](const RankedVariant& ranked) {
    const bool is_out = std::ranges::any_of(quarantines, [&](const QuarantineRecord& record) {
      return record.released_at.empty() && record.variant == ranked.variant &&
             record.key == decision.key;
    });
    if (is_out) left_out += (left_out.empty() ? "" : ", ") + to_string(ranked.variant);
    return is_out;
  });
  if (decision.ranked.empty()) return {};
  if (!left_out.empty()) decision.reason += "; quarantined since and left out: " + left_out;
  return decision;
}

namespace db {
namespace {

struct StoredQuarantine {
  std::int64_t id = 0;
  QuarantineRecord record;
};

std::string describe_trial(const TuningKey& key, const Variant& variant) {
  return to_string(variant) + " for " + describe(key.problem) + " on " + describe(key.topology);
}

template <class Record>
Row row_of(const Record& record, std::int64_t key_id) {
  Row row{key_id};
  put_fields(row, record);
  return row;
}

/// All rows of `table`, whose ids have no gaps, with their keys. There must be `expected` rows.
template <class Record>
std::vector<Record> read_all(Connection& connection, const Table& table, std::int64_t expected) {
  const auto keys =
      read_keys(connection, "WHERE id IN (SELECT key_id FROM " + table.name + ")", {});
  std::vector<Record> records;
  read_rows(
      connection, table, "ORDER BY id", {}, [&](RowCursor& cursor, std::int64_t id, const Row&) {
        std::int64_t key_id = 0;
        Record record;
        cursor.get(key_id);
        cursor.get_fields(record);
        if (id != static_cast<std::int64_t>(records.size()) + 1)
          throw Error(StatusCode::data_loss, "it follows a gap");
        const auto key = keys.find(key_id);
        if (key == keys.end())
          throw Error(StatusCode::data_loss,
                      "its key, row " + std::to_string(key_id) + " of tuning_key, is missing");
        record.key = key->second;
        records.push_back(std::move(record));
      });
  if (static_cast<std::int64_t>(records.size()) != expected)
    fail_row(connection, table.name, expected, "is missing");
  return records;
}

void require_fault(Outcome outcome, const std::string& what) {
  if (!is_fault(outcome))
    throw Error(StatusCode::invalid_argument,
                what + " has the outcome " + std::string(name_of(outcome)));
}

std::optional<StoredQuarantine> find_in_force(Connection& connection, const TuningKey& key,
                                              const Variant& variant) {
  std::int64_t id = 0;
  for (auto& record : read_quarantines(connection)) {
    ++id;
    if (record.released_at.empty() && record.variant == variant && record.key == key)
      return StoredQuarantine{id, std::move(record)};
  }
  return {};
}

}  // namespace

int record_failure(Connection& connection, const FailureRecord& failure) {
  require_fault(failure.outcome, "the failure of " + describe_trial(failure.key, failure.variant));
  require_open_sweep(connection, failure.sweep_uuid);
  Meta meta = read_meta(connection);
  const std::int64_t key_id = put_key(connection, failure.key);
  insert_row(connection, failure_table(), ++meta.failure_count, row_of(failure, key_id));
  write_meta(connection, meta);
  const auto all = read_failures(connection);
  return static_cast<int>(std::ranges::count_if(all, [&](const FailureRecord& other) {
    return other.sweep_uuid == failure.sweep_uuid && other.variant == failure.variant &&
           other.key == failure.key;
  }));
}

std::vector<FailureRecord> read_failures(Connection& connection) {
  return read_all<FailureRecord>(connection, failure_table(), read_meta(connection).failure_count);
}

void put_quarantine(Connection& connection, const QuarantineRecord& quarantine) {
  const std::string what =
      "the quarantine of " + describe_trial(quarantine.key, quarantine.variant);
  require_fault(quarantine.outcome, what);
  if (quarantine.failures < 1)
    throw Error(
        StatusCode::invalid_argument,
        what + " names " + std::to_string(quarantine.failures) + " failures, not 1 or more");
  if (!quarantine.released_at.empty())
    throw Error(StatusCode::invalid_argument,
                what + " is released already; release_quarantine does that");
  const std::int64_t key_id = put_key(connection, quarantine.key);
  if (const auto present = find_in_force(connection, quarantine.key, quarantine.variant)) {
    QuarantineRecord updated = quarantine;
    updated.since = present->record.since;
    update_row(connection, quarantine_table(), present->id, row_of(updated, key_id));
    return;
  }
  Meta meta = read_meta(connection);
  insert_row(connection, quarantine_table(), ++meta.quarantine_count, row_of(quarantine, key_id));
  write_meta(connection, meta);
}

void release_quarantine(Connection& connection, const TuningKey& key, const Variant& variant,
                        const std::string& released_at) {
  auto present = find_in_force(connection, key, variant);
  if (!present)
    throw Error(StatusCode::not_found, connection.path().string() + ": no quarantine of " +
                                           describe_trial(key, variant) + " is in force");
  if (released_at.empty())
    throw Error(StatusCode::invalid_argument,
                "the release of " + describe_trial(key, variant) + " needs a date");
  present->record.released_at = released_at;
  update_row(connection, quarantine_table(), present->id,
             row_of(present->record, put_key(connection, key)));
}

std::vector<QuarantineRecord> read_quarantines(Connection& connection) {
  return read_all<QuarantineRecord>(connection, quarantine_table(),
                                    read_meta(connection).quarantine_count);
}

std::vector<QuarantineRecord> read_quarantines_in_force(Connection& connection) {
  auto records = read_quarantines(connection);
  std::erase_if(records,
                [](const QuarantineRecord& record) { return !record.released_at.empty(); });
  return records;
}

}  // namespace db
}  // namespace colltune
