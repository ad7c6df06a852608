// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The tables of the newest schema, by the fields of what they hold.

#include "colltune/db/records.h"
#include "columns.h"
#include "schema.h"

namespace colltune::db {

const Table& meta_table() {
  static const Table table{
      "meta",
      {"store_uuid", "schema_version", "schema_digest", "newest_generation", "generation_count",
       "highest_number", "environment_count", "sweep_count"}};
  return table;
}

const Table& environment_table() {
  static const Table table = table_of<Environment>("environment", {"digest"}, {});
  return table;
}

const Table& sweep_table() {
  static const Table table =
      table_of<SweepRecord>("sweep", {}, {"measurement_count", "journal_digest"});
  return table;
}

const Table& tuning_key_table() {
  static const Table table = table_of<TuningKey>("tuning_key", {"digest"}, {});
  return table;
}

const Table& measurement_table() {
  static const Table table = table_of<Measurement>("measurement", {"sweep_id", "key_id"}, {});
  return table;
}

const Table& generation_table() {
  static const Table table{"generation", {"published_at", "content_digest", "decision_count"}};
  return table;
}

const Table& decision_table() {
  static const Table table = table_of<Decision>("decision", {"key_id"}, {"valid_from", "valid_to"});
  return table;
}

const Table& ranked_variant_table() {
  static const Table table =
      table_of<RankedVariant>("ranked_variant", {"decision_id", "position"}, {});
  return table;
}

Meta read_meta(Connection& connection) {
  Meta meta;
  int rows = 0;
  read_rows(connection, meta_table(), "", {}, [&](RowCursor& cursor, std::int64_t, const Row&) {
    ++rows;
    cursor.get(meta.store_uuid);
    cursor.get(meta.schema_version);
    cursor.get(meta.schema_digest);
    cursor.get(meta.newest_generation);
    cursor.get(meta.generation_count);
    cursor.get(meta.highest_number);
    cursor.get(meta.environment_count);
    cursor.get(meta.sweep_count);
  });
  if (rows != 1) fail_row(connection, "meta", 1, "is missing or not alone");
  return meta;
}

void write_meta(Connection& connection, const Meta& meta) {
  const Row row{meta.store_uuid,        meta.schema_version,   meta.schema_digest,
                meta.newest_generation, meta.generation_count, meta.highest_number,
                meta.environment_count, meta.sweep_count};
  if (connection.integer("SELECT count(*) FROM meta") == 0)
    insert_row(connection, meta_table(), 1, row);
  else
    update_row(connection, meta_table(), 1, row);
}

}  // namespace colltune::db
