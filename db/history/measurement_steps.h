// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sqlite/row.h"

namespace colltune::db {

// What the steps of the schema's history that change the columns of `measurement` share. They take
// the columns from the file, so that they do not change with the program's types.

/// Throws Error(data_loss) where the table has no such column.
[[nodiscard]] std::size_t index_of(const Table& table, std::string_view column);
/// The tables are STRICT: the column of a whole number holds one.
[[nodiscard]] std::int64_t number_in(const Row& row, std::size_t index);

/// All rows by id, verified: what is between `id` and the checksum. Throws Error(data_loss) where
/// an id is missing between the first and the last.
[[nodiscard]] std::map<std::int64_t, Row> read_table(Connection& connection, const Table& table);

/// The journal of a sweep: how many measurements, and the chain over their checksums.
struct JournalChain {
  std::int64_t count = 0;
  std::string digest;

  void extend(const std::string& checksum);
};
using Journals = std::map<std::int64_t, JournalChain>;  ///< by the sweep's id

/// Throws Error(data_loss) unless every row of `measurement` is sound and the sweeps' rows fit
/// them.
void verify_measurements(Connection& connection, const Table& sweeps,
                         const std::map<std::int64_t, Row>& sweep_rows);

/// Replaces `measurement`, which was verified, by the table of the script `create`, with the same
/// rows and ids. Columns that the old table lacks get the value of `added`. Returns the new
/// journals; the rows of `sweep` are left to the caller.
[[nodiscard]] Journals rebuild_measurements(Connection& connection, const char* create,
                                            const std::map<std::string, Value>& added);

}  // namespace colltune::db
