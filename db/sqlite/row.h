// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "connection.h"

namespace colltune::db {

/// A table of the schema. Every table starts with `id INTEGER PRIMARY KEY` and ends with
/// `row_checksum TEXT`; `columns` are those in between.
struct Table {
  std::string name;
  std::vector<std::string> columns;
};

/// The table `name` as it is in the open file, whatever the file's version.
[[nodiscard]] Table present_table(Connection& connection, std::string name);

/// XXH3 (128 bits, as text) over the table's name, the id, and every value with its type and
/// length. A row that was moved to another place does not match either.
[[nodiscard]] std::string row_checksum(const Table& table, std::int64_t id, const Row& row);

void insert_row(Connection& connection, const Table& table, std::int64_t id, const Row& row);
void update_row(Connection& connection, const Table& table, std::int64_t id, const Row& row);

/// Calls `visit` with each row that `condition` selects ("WHERE … ORDER BY …", or empty), after
/// verifying its checksum. Error(data_loss) that names table and row if it does not match.
void for_each_row(Connection& connection, const Table& table, const std::string& condition,
                  const Row& parameters,
                  const std::function<void(std::int64_t, const Row&)>& visit);

/// The id after the table's last.
[[nodiscard]] std::int64_t next_id(Connection& connection, const Table& table);

/// Throws Error(data_loss) whose message starts with the table and the row's id.
[[noreturn]] void fail_row(const Connection& connection, std::string_view table, std::int64_t id,
                           std::string_view what);

}  // namespace colltune::db
