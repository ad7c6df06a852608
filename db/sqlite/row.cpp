// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "row.h"

#include <utility>

#include "colltune/vocabulary/canonical.h"

namespace colltune::db {
namespace {

std::string listed(const Table& table) {
  std::string text = "id";
  for (const auto& column : table.columns) text += ", " + column;
  return text + ", row_checksum";
}

Row with_id_and_checksum(const Table& table, std::int64_t id, const Row& row) {
  if (row.size() != table.columns.size())
    throw Error(StatusCode::internal, "table " + table.name + ": " + std::to_string(row.size()) +
                                          " values for " + std::to_string(table.columns.size()) +
                                          " columns");
  Row all;
  all.reserve(row.size() + 2);
  all.emplace_back(id);
  all.insert(all.end(), row.begin(), row.end());
  all.emplace_back(row_checksum(table, id, row));
  return all;
}

}  // namespace

Table present_table(Connection& connection, std::string name) {
  Table table{std::move(name), {}};
  Statement statement(connection.handle(), "SELECT name FROM pragma_table_info(?) ORDER BY cid");
  statement.start({table.name});
  while (statement.step()) table.columns.push_back(std::get<std::string>(statement.column(0)));
  std::erase(table.columns, "id");
  std::erase(table.columns, "row_checksum");
  return table;
}

std::string row_checksum(const Table& table, std::int64_t id, const Row& row) {
  std::string text;
  append_canonical(text, table.name);
  append_canonical(text, id);
  for (const Value& value : row) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      text += 'i';
      append_canonical(text, *number);
    } else if (const auto* real = std::get_if<double>(&value)) {
      text += 'r';
      append_canonical(text, *real);
    } else if (const auto* string = std::get_if<std::string>(&value)) {
      text += 't';
      append_canonical(text, *string);
    } else if (const auto* blob = std::get_if<Blob>(&value)) {
      text += 'b';
      append_canonical(text, blob->bytes.size());
      text += ':';
      text.append(reinterpret_cast<const char*>(blob->bytes.data()), blob->bytes.size());
    } else {
      text += 'n';
    }
    text += ';';
  }
  return digest_of_text(text);
}

void insert_row(Connection& connection, const Table& table, std::int64_t id, const Row& row) {
  std::string marks = "?";
  for (std::size_t i = 0; i < table.columns.size() + 1; ++i) marks += ", ?";
  connection
      .prepared("INSERT INTO " + table.name + " (" + listed(table) + ") VALUES (" + marks + ")")
      .run(with_id_and_checksum(table, id, row));
}

void update_row(Connection& connection, const Table& table, std::int64_t id, const Row& row) {
  std::string sql = "UPDATE " + table.name + " SET id = ?1";
  int index = 1;
  for (const auto& column : table.columns) sql += ", " + column + " = ?" + std::to_string(++index);
  sql += ", row_checksum = ?" + std::to_string(++index) + " WHERE id = ?1";
  connection.prepared(sql).run(with_id_and_checksum(table, id, row));
}

void for_each_row(Connection& connection, const Table& table, const std::string& condition,
                  const Row& parameters,
                  const std::function<void(std::int64_t, const Row&)>& visit) {
  Statement statement(connection.handle(),
                      "SELECT " + listed(table) + " FROM " + table.name + " " + condition);
  statement.start(parameters);
  const int last = statement.columns() - 1;
  while (statement.step()) {
    const Value first = statement.column(0);
    const auto* id = std::get_if<std::int64_t>(&first);
    if (!id) fail_row(connection, table.name, 0, "has no id");
    Row row;
    row.reserve(table.columns.size());
    for (int i = 1; i < last; ++i) row.push_back(statement.column(i));
    const Value stored = statement.column(last);
    const auto* checksum = std::get_if<std::string>(&stored);
    if (!checksum || *checksum != row_checksum(table, *id, row))
      fail_row(connection, table.name, *id, "does not fit its checksum");
    visit(*id, row);
  }
}

std::int64_t next_id(Connection& connection, const Table& table) {
  return connection.integer("SELECT coalesce(max(id), 0) + 1 FROM " + table.name);
}

void fail_row(const Connection& connection, std::string_view table, std::int64_t id,
              std::string_view what) {
  throw Error(StatusCode::data_loss, connection.path().string() + ": damaged: table " +
                                         std::string(table) + ", row " + std::to_string(id) + " " +
                                         std::string(what));
}

}  // namespace colltune::db
