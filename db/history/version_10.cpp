// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The step to version 10: keys of unequal counts. Released: never edit; add a step instead. Keys
// keep their ids and digests. Their rows are verified and rewritten with the new column, because
// columns are in the order of the program's types.

#include "measurement_steps.h"
#include "schema.h"

namespace colltune::db {
namespace {

// Rows of other tables refer to the keys, which exist again with the same ids before the
// transaction ends.
constexpr const char* tuning_key_of_version_10 = R"sql(
PRAGMA defer_foreign_keys=ON;
DROP TABLE tuning_key;
CREATE TABLE tuning_key (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  collective TEXT NOT NULL,
  data_type TEXT NOT NULL,
  reduce_op TEXT NOT NULL,
  message_size_bytes INTEGER NOT NULL,
  in_place INTEGER NOT NULL,
  registered INTEGER NOT NULL,
  graph_capture INTEGER NOT NULL,
  numeric_class TEXT NOT NULL,
  mesh TEXT NOT NULL,
  counts TEXT NOT NULL,
  nodes INTEGER NOT NULL,
  ranks_per_node INTEGER NOT NULL,
  ranks INTEGER NOT NULL,
  architectures TEXT NOT NULL,
  layout_digest TEXT NOT NULL,
  interconnect TEXT NOT NULL,
  placement TEXT NOT NULL,
  environment_digest TEXT NOT NULL REFERENCES environment (digest),
  calling TEXT NOT NULL,
  input TEXT NOT NULL,
  row_checksum TEXT NOT NULL
) STRICT;
)sql";

}  // namespace

void apply_version_10(Connection& connection) {
  const Table before = present_table(connection, "tuning_key");
  auto rows = read_table(connection, before);
  connection.execute_script(tuning_key_of_version_10);
  const Table after = present_table(connection, "tuning_key");
  const auto counts = static_cast<std::ptrdiff_t>(index_of(after, "counts"));
  for (auto& [id, row] : rows) {
    row.insert(row.begin() + counts, std::string("equal"));  // all that there was before
    insert_row(connection, after, id, row);
  }
}

}  // namespace colltune::db
