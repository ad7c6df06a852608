// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The tables of the newest schema, derived from the fields of what they hold.

#include <algorithm>
#include <concepts>

#include "colltune/db/records.h"
#include "schema.h"
#include "sqlite/columns.h"

namespace colltune::db {

namespace {

/// Visits every column of `meta`, in order: its name and its member in Meta.
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Meta>
void visit_columns(Self& meta, Visit&& visit) {
  visit("store_uuid", meta.store_uuid);
  visit("schema_version", meta.schema_version);
  visit("schema_digest", meta.schema_digest);
  visit("newest_generation", meta.newest_generation);
  visit("generation_count", meta.generation_count);
  visit("highest_number", meta.highest_number);
  visit("environment_count", meta.environment_count);
  visit("sweep_count", meta.sweep_count);
  visit("failure_count", meta.failure_count);
  visit("quarantine_count", meta.quarantine_count);
  visit("world_members_count", meta.world_members_count);
  visit("composition_count", meta.composition_count);
}

Meta read_meta_of(Connection& connection, const Table& table) {
  Meta meta;
  int rows = 0;
  read_rows(connection, table, "", {}, [&](RowCursor& cursor, std::int64_t, const Row&) {
    ++rows;
    visit_columns(meta, [&](std::string_view name, auto& field) {
      if (std::ranges::find(table.columns, name) != table.columns.end()) cursor.get(field);
    });
  });
  if (rows != 1) fail_row(connection, "meta", 1, "is missing or not alone");
  return meta;
}

}  // namespace

const Table& meta_table() {
  static const Table table = [] {
    Table columns{"meta", {}};
    const Meta meta;
    visit_columns(meta,
                  [&](std::string_view name, const auto&) { columns.columns.emplace_back(name); });
    return columns;
  }();
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
  static const Table table{
      "generation",
      {"published_at", "content_digest", "decision_count", "fit_count", "fit_digest"}};
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

const Table& variant_fit_table() {
  static const Table table =
      table_of<VariantFit>("variant_fit", {"key_id"}, {"valid_from", "valid_to"});
  return table;
}

const Table& failure_table() {
  static const Table table = table_of<FailureRecord>("failure", {"key_id"}, {});
  return table;
}

const Table& quarantine_table() {
  static const Table table = table_of<QuarantineRecord>("quarantine", {"key_id"}, {});
  return table;
}

const Table& world_members_table() {
  static const Table table = table_of<WorldMembers>("world_members", {}, {});
  return table;
}

const Table& composition_table() {
  static const Table table{"composition", {"parts_name", "composition"}};
  return table;
}

Meta read_meta(Connection& connection) { return read_meta_of(connection, meta_table()); }

Meta read_meta_of_any_version(Connection& connection) {
  return read_meta_of(connection, present_table(connection, "meta"));
}

void write_meta(Connection& connection, const Meta& meta) {
  Row row;
  visit_columns(meta, [&](std::string_view, const auto& field) { row.emplace_back(field); });
  if (connection.integer("SELECT count(*) FROM meta") == 0)
    insert_row(connection, meta_table(), 1, row);
  else
    update_row(connection, meta_table(), 1, row);
}

}  // namespace colltune::db
