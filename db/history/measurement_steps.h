// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "sqlite/row.h"

namespace colltune::db {

// Shared by the steps of the schema's history that change the columns of `measurement`. They read
// the columns from the file, so they do not change with the program's types.

/// Throws Error(data_loss) if the table has no such column.
[[nodiscard]] std::size_t index_of(const Table& table, std::string_view column);
/// The tables are STRICT, so an integer column holds an integer.
[[nodiscard]] std::int64_t number_in(const Row& row, std::size_t index);

/// All rows by id, verified; the values between `id` and the checksum. Throws Error(data_loss) if
/// an id between the first and the last is missing.
[[nodiscard]] std::map<std::int64_t, Row> read_table(Connection& connection, const Table& table);

/// The journal of a sweep: the number of measurements, and the chain over their checksums.
struct JournalChain {
  std::int64_t count = 0;
  std::string digest;

  void extend(const std::string& checksum);
};
using Journals = std::map<std::int64_t, JournalChain>;  ///< by the sweep's id

/// Throws Error(data_loss) unless every row of `measurement` is intact and the sweeps' rows match.
void verify_measurements(Connection& connection, const Table& sweeps,
                         const std::map<std::int64_t, Row>& sweep_rows);

/// Replaces `measurement`, which must be verified, by the table that the script `create` makes,
/// with the same rows and ids. Columns that the old table lacks get the value of `added`; columns
/// that the new one lacks are dropped. `change`, if any, edits each new row, given the old table
/// and its row. Returns the new journals; the caller updates the rows of `sweep`.
[[nodiscard]] Journals rebuild_measurements(
    Connection& connection, const char* create, const std::map<std::string, Value>& added,
    const std::function<void(const Table&, const Row&, Row&)>& change = {});

}  // namespace colltune::db
