// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "schema.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "reading.h"
#include "samples.h"

namespace colltune::test {
namespace {

using db::Connection;
using db::OpenMode;

std::vector<std::string> names(Connection& connection, const std::string& sql) {
  std::vector<std::string> found;
  db::Statement statement(connection.handle(), sql);
  statement.start({});
  while (statement.step()) found.push_back(std::get<std::string>(statement.column(0)));
  return found;
}

std::vector<std::string> columns_of(Connection& connection, const std::string& table) {
  return names(connection, "SELECT name FROM pragma_table_info('" + table + "') ORDER BY cid");
}

std::vector<std::string> tables_of(Connection& connection) {
  return names(connection, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
}

TEST(Schema, EnvironmentHasOneColumnPerField) {
  const TemporaryFolder folder;
  fill(folder / "a.db");
  const auto connection = db::open_for_reading(folder / "a.db");
  std::vector<std::string> expected{"id", "digest"};
  Environment environment;
  visit_fields(environment, [&](std::string_view name, auto&) { expected.emplace_back(name); });
  expected.emplace_back("row_checksum");
  EXPECT_EQ(columns_of(*connection, "environment"), expected);
}

TEST(Schema, EveryTableHasTheColumnsThatAreWrittenAndIsStrict) {
  const TemporaryFolder folder;
  fill(folder / "a.db");
  const auto connection = db::open_for_reading(folder / "a.db");
  std::set<std::string> known;
  for (const db::Table* table :
       {&db::meta_table(), &db::environment_table(), &db::sweep_table(), &db::tuning_key_table(),
        &db::measurement_table(), &db::generation_table(), &db::decision_table(),
        &db::ranked_variant_table(), &db::variant_fit_table(), &db::failure_table(),
        &db::quarantine_table(), &db::world_members_table(), &db::composition_table()}) {
    std::vector<std::string> expected = table->columns;
    expected.insert(expected.begin(), "id");
    expected.emplace_back("row_checksum");
    EXPECT_EQ(columns_of(*connection, table->name), expected) << table->name;
    known.insert(table->name);
  }
  const auto tables = tables_of(*connection);
  EXPECT_EQ(std::set<std::string>(tables.begin(), tables.end()), known);
  EXPECT_EQ(connection->integer("SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND "
                                "strict = 1"),
            static_cast<std::int64_t>(known.size()));
}

/// The name in code quotes right behind `start`.
std::string first_name_in(const std::string& line, std::string_view start) {
  EXPECT_TRUE(line.starts_with(start)) << line;
  return line.substr(start.size(), line.find('`', start.size()) - start.size());
}

TEST(Schema, ThePageNamesEveryTableAndColumn) {
  std::ifstream file(COLLTUNE_SCHEMA_PAGE);
  ASSERT_TRUE(file) << COLLTUNE_SCHEMA_PAGE;
  std::map<std::string, std::set<std::string>> documented;
  std::string line;
  std::string table;
  while (std::getline(file, line)) {
    if (line.starts_with("### "))
      table = first_name_in(line, "### `");
    else if (line.starts_with("## "))
      table.clear();
    else if (!table.empty() && line.starts_with("| `"))
      documented[table].insert(first_name_in(line, "| `"));
  }
  const TemporaryFolder folder;
  fill(folder / "a.db");
  const auto connection = db::open_for_reading(folder / "a.db");
  std::map<std::string, std::set<std::string>> present;
  for (const auto& name : tables_of(*connection)) {
    const auto columns = columns_of(*connection, name);
    present[name] = {columns.begin(), columns.end()};
  }
  EXPECT_EQ(documented, present);
}

TEST(Schema, TheQueriesOfThePageRun) {
  std::ifstream file(COLLTUNE_SCHEMA_PAGE);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const TemporaryFolder folder;
  fill(folder / "a.db");
  const auto connection = db::open_for_reading(folder / "a.db");
  int queries = 0;
  const std::string fence = "```sql\n";
  for (auto at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
    at += fence.size();
    db::Statement statement(connection->handle(), page.substr(at, page.find("```", at) - at));
    statement.start({});
    EXPECT_TRUE(statement.step()) << page.substr(at, 200);
    ++queries;
  }
  EXPECT_GE(queries, 2);
}

}  // namespace
}  // namespace colltune::test
