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

/// A table of the schema: every one begins with `id INTEGER PRIMARY KEY` and ends with
/// `row_checksum TEXT`; `columns` are those between.
struct Table {
  std::string name;
  std::vector<std::string> columns;
};

/// The table called `name` as the open file has it, whatever its version.
[[nodiscard]] Table present_table(Connection& connection, std::string name);

/// XXH3 (128 bits, as text) over the table's name, the id and every value with its kind and length:
/// a row moved to another place does not fit either.
[[nodiscard]] std::string row_checksum(const Table& table, std::int64_t id, const Row& row);

void insert_row(Connection& connection, const Table& table, std::int64_t id, const Row& row);
void update_row(Connection& connection, const Table& table, std::int64_t id, const Row& row);

/// Calls `visit` with each row that `condition` selects ("WHERE … ORDER BY …", or empty), its
/// checksum verified; Error(data_loss) that names table and row where it does not fit.
void for_each_row(Connection& connection, const Table& table, const std::string& condition,
                  const Row& parameters,
                  const std::function<void(std::int64_t, const Row&)>& visit);

/// The id that follows the table's last.
[[nodiscard]] std::int64_t next_id(Connection& connection, const Table& table);

/// Error(data_loss) with the table and the row's id in front.
[[noreturn]] void fail_row(const Connection& connection, std::string_view table, std::int64_t id,
                           std::string_view what);

}  // namespace colltune::db
