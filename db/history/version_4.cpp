// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The step to version 4: the pass of a measurement. Released: never edit; add a step instead. It
// reads the old columns from the file and names the new one itself. Rows keep their ids. Their
// checksums and the sweeps' journals are rewritten after the old ones were verified.

#include "measurement_steps.h"
#include "schema.h"

namespace colltune::db {
namespace {

constexpr const char* measurement_of_version_4 = R"sql(
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
  pass INTEGER NOT NULL,
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
  UNIQUE (sweep_id, key_id, variant, is_twin, pass)
) STRICT;
)sql";

}  // namespace

void apply_version_4(Connection& connection) {
  const Table sweeps = present_table(connection, "sweep");
  auto rows = read_table(connection, sweeps);
  verify_measurements(connection, sweeps, rows);
  // Before this version a sweep visited each key once.
  Journals journals =
      rebuild_measurements(connection, measurement_of_version_4, {{"pass", std::int64_t{0}}});
  const std::size_t digest = index_of(sweeps, "journal_digest");
  for (auto& [id, row] : rows) {
    row.at(digest) = journals[id].digest;
    update_row(connection, sweeps, id, row);
  }
}

}  // namespace colltune::db
