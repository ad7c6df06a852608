// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The step to version 9: fits of generations. Released: never edit; add a step instead. Generations
// keep their numbers and digests. Their rows are verified and rewritten with the new columns: those
// that were published before have no fits.

#include "measurement_steps.h"
#include "schema.h"

namespace colltune::db {
namespace {

constexpr const char* new_columns_and_table = R"sql(
ALTER TABLE generation DROP COLUMN row_checksum;
ALTER TABLE generation ADD COLUMN fit_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE generation ADD COLUMN fit_digest TEXT NOT NULL DEFAULT '';
ALTER TABLE generation ADD COLUMN row_checksum TEXT NOT NULL DEFAULT '';
CREATE TABLE variant_fit (
  id INTEGER PRIMARY KEY,
  key_id INTEGER NOT NULL REFERENCES tuning_key (id),
  variant TEXT NOT NULL,
  model TEXT NOT NULL,
  segments TEXT NOT NULL,
  inside TEXT NOT NULL,
  below TEXT NOT NULL,
  beyond TEXT NOT NULL,
  valid_from INTEGER NOT NULL,
  valid_to INTEGER,
  row_checksum TEXT NOT NULL
) STRICT;
)sql";

}  // namespace

void apply_version_9(Connection& connection) {
  const Table before = present_table(connection, "generation");
  std::map<std::int64_t, Row> rows;  // numbers may have gaps
  for_each_row(connection, before, "ORDER BY id", {},
               [&](std::int64_t id, const Row& row) { rows.emplace(id, row); });
  connection.execute_script(new_columns_and_table);
  const Table after = present_table(connection, "generation");
  for (auto& [id, row] : rows) {
    row.insert(row.end(), {std::int64_t{0}, std::string()});
    update_row(connection, after, id, row);
  }
}

}  // namespace colltune::db
