// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The step to version 3: twins, marks and conditions of measurements, the purpose of a launch,
// verdict and confirmation of decisions. Released: never edit; add a step instead. It reads the old
// columns from the file and names the new ones itself, so it does not change with the program's
// types. Rows keep their ids. Their checksums and the sweeps' journals are rewritten after the old
// ones were verified.

#include "measurement_steps.h"
#include "schema.h"
#include "sqlite/sample_codec.h"

namespace colltune::db {
namespace {

constexpr const char* measurement_of_version_3 = R"sql(
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

void change_sweeps_and_measurements(Connection& connection) {
  const Table before = present_table(connection, "sweep");
  auto rows = read_table(connection, before);
  verify_measurements(connection, before, rows);
  Journals journals = rebuild_measurements(connection, measurement_of_version_3,
                                           {{"is_twin", std::int64_t{0}},
                                            {"is_holdout", std::int64_t{0}},
                                            {"marks", pack_numbers({})},
                                            {"conditions", std::string(unobserved_conditions)}});
  connection.execute_script(new_sweep_columns);
  const Table after = present_table(connection, "sweep");
  for (auto& [id, row] : rows) {
    row.resize(index_of(before, "measurement_count"));  // and the journal's digest after it
    row.insert(row.end(),
               {std::string("choose"), std::string(), journals[id].count, journals[id].digest});
    update_row(connection, after, id, row);
  }
}

/// What the ranking of each decision implies about the baseline.
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
