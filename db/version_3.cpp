// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The step to version 3: twins, marks and conditions of measurements, what a launch was for,
// verdict and confirmation of decisions. Released: never edit; add a step instead. It takes the old
// columns from the file and names the new ones itself, so that it does not change with the
// program's types. Rows keep their ids; their checksums and the sweeps' journals are written anew,
// after the old ones were verified.

#include <algorithm>
#include <map>
#include <utility>

#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/error.h"
#include "sample_codec.h"
#include "schema.h"

namespace colltune::db {
namespace {

constexpr const char* new_measurement = R"sql(
ALTER TABLE measurement RENAME TO measurement_before;
CREATE TABLE measurement (
  id INTEGER PRIMARY KEY,
  sweep_id INTEGER NOT NULL REFERENCES sweep (id),
  key_id INTEGER NOT NULL REFERENCES tuning_key (id),
  variant TEXT NOT NULL,
  family TEXT NOT NULL,
  protocol TEXT NOT NULL,
  is_baseline INTEGER NOT NULL,
  is_twin INTEGER NOT NULL,
  is_holdout INTEGER NOT NULL,
  is_emulated INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  detail TEXT NOT NULL,
  samples_ns BLOB NOT NULL,
  slowest_ranks BLOB NOT NULL,
  marks BLOB NOT NULL,
  samples_per_round INTEGER NOT NULL,
  calls_per_sample INTEGER NOT NULL,
  ranks_ran INTEGER NOT NULL,
  ranks_failed INTEGER NOT NULL,
  verified_calls INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  input_mode TEXT NOT NULL,
  synchronization TEXT NOT NULL,
  rounding TEXT NOT NULL,
  numeric_class TEXT NOT NULL,
  limits TEXT NOT NULL,
  conditions TEXT NOT NULL,
  row_checksum TEXT NOT NULL,
  UNIQUE (sweep_id, key_id, variant, is_twin)
) STRICT;
)sql";

// Other tables refer to these two, so their columns are exchanged in place.
constexpr const char* new_sweep_columns = R"sql(
ALTER TABLE sweep DROP COLUMN measurement_count;
ALTER TABLE sweep DROP COLUMN journal_digest;
ALTER TABLE sweep DROP COLUMN row_checksum;
ALTER TABLE sweep ADD COLUMN purpose TEXT NOT NULL DEFAULT '';
ALTER TABLE sweep ADD COLUMN confirmation TEXT NOT NULL DEFAULT '';
ALTER TABLE sweep ADD COLUMN measurement_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sweep ADD COLUMN journal_digest TEXT NOT NULL DEFAULT '';
ALTER TABLE sweep ADD COLUMN row_checksum TEXT NOT NULL DEFAULT '';
)sql";

constexpr const char* new_decision_columns = R"sql(
ALTER TABLE decision DROP COLUMN valid_from;
ALTER TABLE decision DROP COLUMN valid_to;
ALTER TABLE decision DROP COLUMN row_checksum;
ALTER TABLE decision ADD COLUMN verdict TEXT NOT NULL DEFAULT '';
ALTER TABLE decision ADD COLUMN status TEXT NOT NULL DEFAULT '';
ALTER TABLE decision ADD COLUMN confirmation TEXT NOT NULL DEFAULT '';
ALTER TABLE decision ADD COLUMN valid_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE decision ADD COLUMN valid_to INTEGER;
ALTER TABLE decision ADD COLUMN row_checksum TEXT NOT NULL DEFAULT '';
)sql";

constexpr const char* unobserved_conditions =
    R"({"clock_error_ns":0,"involuntary_switches":0,"longest_gap_ns":0,"lowest_frequency_khz":0,)"
    R"("page_faults":0,"steal":-1.0,"throttle_events":0})";
constexpr const char* no_confirmation = R"({"high":0.0,"launches":0,"low":0.0,"speedup":0.0})";

std::size_t index_of(const Table& table, std::string_view column) {
  const auto found = std::ranges::find(table.columns, column);
  if (found == table.columns.end())
    throw Error(StatusCode::data_loss,
                "table " + table.name + " has no column '" + std::string(column) + "'");
  return static_cast<std::size_t>(found - table.columns.begin());
}

std::int64_t number_in(const Row& row, std::size_t index) {
  return std::get<std::int64_t>(row.at(index));  // the tables are STRICT
}

/// What is between `id` and the checksum, of all rows; no id is missing between the first and the
/// last.
std::map<std::int64_t, Row> read_table(Connection& connection, const Table& table) {
  std::map<std::int64_t, Row> rows;
  for_each_row(connection, table, "ORDER BY id", {}, [&](std::int64_t id, const Row& row) {
    if (id != static_cast<std::int64_t>(rows.size()) + 1)
      fail_row(connection, table.name, id, "follows a gap");
    rows.emplace(id, row);
  });
  return rows;
}

/// The journals of the sweeps: how many measurements, and the chain over their checksums.
struct Journal {
  std::int64_t count = 0;
  std::string digest;

  void extend(const std::string& checksum) {
    ++count;
    digest = digest_of_text(digest + checksum);
  }
};
using Journals = std::map<std::int64_t, Journal>;

void verify_measurements(Connection& connection, const Table& sweeps,
                         const std::map<std::int64_t, Row>& sweep_rows) {
  const Table table = present_table(connection, "measurement");
  const std::size_t sweep_id = index_of(table, "sweep_id");
  Journals journals;
  for_each_row(connection, table, "ORDER BY id", {}, [&](std::int64_t id, const Row& row) {
    journals[number_in(row, sweep_id)].extend(row_checksum(table, id, row));
  });
  const std::size_t count = index_of(sweeps, "measurement_count");
  const std::size_t digest = index_of(sweeps, "journal_digest");
  for (const auto& [id, row] : sweep_rows) {
    const Journal& journal = journals[id];
    if (number_in(row, count) != journal.count ||
        std::get<std::string>(row.at(digest)) != journal.digest)
      fail_row(connection, "sweep", id, "does not fit its measurements");
  }
  if (journals.size() > sweep_rows.size())
    fail_row(connection, "measurement", 0, "belongs to a sweep that is missing");
}

/// Fills the new table from the old one, which was verified. Returns the new journals.
Journals copy_measurements(Connection& connection) {
  const Table before = present_table(connection, "measurement_before");
  const Table after = present_table(connection, "measurement");
  const std::size_t sweep_id = index_of(after, "sweep_id");
  std::string sql = "SELECT id";
  for (const auto& column : before.columns) sql += ", " + column;
  Statement old_rows(connection.handle(), sql + " FROM measurement_before ORDER BY id");
  old_rows.start({});
  Journals journals;
  while (old_rows.step()) {
    const std::int64_t id = std::get<std::int64_t>(old_rows.column(0));
    Row row;
    for (const auto& column : after.columns) {
      if (column == "is_twin" || column == "is_holdout") {
        row.emplace_back(std::int64_t{0});
      } else if (column == "marks") {
        row.emplace_back(pack_numbers({}));
      } else if (column == "conditions") {
        row.emplace_back(std::string(unobserved_conditions));
      } else {
        row.push_back(old_rows.column(1 + static_cast<int>(index_of(before, column))));
      }
    }
    insert_row(connection, after, id, row);
    journals[number_in(row, sweep_id)].extend(row_checksum(after, id, row));
  }
  return journals;
}

void change_sweeps_and_measurements(Connection& connection) {
  const Table before = present_table(connection, "sweep");
  auto rows = read_table(connection, before);
  verify_measurements(connection, before, rows);
  connection.execute_script(new_measurement);
  Journals journals = copy_measurements(connection);
  connection.execute_script("DROP TABLE measurement_before;");
  connection.execute_script(new_sweep_columns);
  const Table after = present_table(connection, "sweep");
  for (auto& [id, row] : rows) {
    row.resize(index_of(before, "measurement_count"));  // and the journal's digest behind it
    row.insert(row.end(),
               {std::string("choose"), std::string(), journals[id].count, journals[id].digest});
    update_row(connection, after, id, row);
  }
}

/// What the ranking of each decision says about the baseline.
std::map<std::int64_t, std::string> read_verdicts(Connection& connection) {
  const Table table = present_table(connection, "ranked_variant");
  const std::size_t decision_id = index_of(table, "decision_id");
  const std::size_t position = index_of(table, "position");
  const std::size_t is_baseline = index_of(table, "is_baseline");
  std::map<std::int64_t, std::string> verdicts;
  for (const auto& [id, row] : read_table(connection, table)) {
    std::string& verdict =
        verdicts.try_emplace(number_in(row, decision_id), "no_baseline").first->second;
    if (number_in(row, is_baseline) != 0 && verdict == "no_baseline")
      verdict = number_in(row, position) == 0 ? "kept" : "displaced";
  }
  return verdicts;
}

void change_decisions(Connection& connection) {
  const Table before = present_table(connection, "decision");
  auto rows = read_table(connection, before);
  const auto verdicts = read_verdicts(connection);
  connection.execute_script(new_decision_columns);
  const Table after = present_table(connection, "decision");
  const std::size_t valid_from = index_of(before, "valid_from");
  for (auto& [id, row] : rows) {
    const auto verdict = verdicts.find(id);
    if (verdict == verdicts.end()) fail_row(connection, "decision", id, "ranks no variant");
    const Row added{verdict->second, std::string("provisional"), std::string(no_confirmation)};
    row.insert(row.begin() + static_cast<std::ptrdiff_t>(valid_from), added.begin(), added.end());
    update_row(connection, after, id, row);
  }
}

}  // namespace

void apply_version_3(Connection& connection) {
  change_sweeps_and_measurements(connection);
  change_decisions(connection);
}

}  // namespace colltune::db
