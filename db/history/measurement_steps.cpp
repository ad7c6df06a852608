// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "measurement_steps.h"

#include <algorithm>

#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/error.h"

namespace colltune::db {

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

std::map<std::int64_t, Row> read_table(Connection& connection, const Table& table) {
  std::map<std::int64_t, Row> rows;
  for_each_row(connection, table, "ORDER BY id", {}, [&](std::int64_t id, const Row& row) {
    if (id != static_cast<std::int64_t>(rows.size()) + 1)
      fail_row(connection, table.name, id, "follows a gap");
    rows.emplace(id, row);
  });
  return rows;
}

void JournalChain::extend(const std::string& checksum) {
  ++count;
  digest = digest_of_text(digest + checksum);
}

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
    const JournalChain& journal = journals[id];
    if (number_in(row, count) != journal.count ||
        std::get<std::string>(row.at(digest)) != journal.digest)
      fail_row(connection, "sweep", id, "does not fit its measurements");
  }
  if (journals.size() > sweep_rows.size())
    fail_row(connection, "measurement", 0, "belongs to a sweep that is missing");
}

Journals rebuild_measurements(Connection& connection, const char* create,
                              const std::map<std::string, Value>& added,
                              const std::function<void(const Table&, const Row&, Row&)>& change) {
  connection.execute_script("ALTER TABLE measurement RENAME TO measurement_before;");
  connection.execute_script(create);
  const Table before = present_table(connection, "measurement_before");
  const Table after = present_table(connection, "measurement");
  const std::size_t sweep_id = index_of(after, "sweep_id");
  std::string sql = "SELECT id";
  for (const auto& column : before.columns) sql += ", " + column;
  Journals journals;
  {
    Statement old_rows(connection.handle(), sql + " FROM measurement_before ORDER BY id");
    old_rows.start({});
    while (old_rows.step()) {
      const std::int64_t id = std::get<std::int64_t>(old_rows.column(0));
      Row old_row;
      for (int i = 1; i < old_rows.columns(); ++i) old_row.push_back(old_rows.column(i));
      Row row;
      for (const auto& column : after.columns) {
        if (const auto value = added.find(column); value != added.end())
          row.push_back(value->second);
        else
          row.push_back(old_row.at(index_of(before, column)));
      }
      if (change) change(before, old_row, row);
      insert_row(connection, after, id, row);
      journals[number_in(row, sweep_id)].extend(row_checksum(after, id, row));
    }
  }
  connection.execute_script("DROP TABLE measurement_before;");
  return journals;
}

}  // namespace colltune::db
