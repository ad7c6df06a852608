// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "table.h"

#include "colltune/table_file/table_file.h"
#include "database.h"
#include "remote.h"

namespace colltune {

DecisionSet read_table(const Origin& origin) {
  const TableFile file(origin.table);
  const std::uint64_t number = file.generation().number;
  if (origin.generation && *origin.generation != number)
    throw Error(StatusCode::not_found, "generation " + std::to_string(*origin.generation) +
                                           " is not in " + origin.table + ", which holds " +
                                           std::to_string(number) + " alone");
  return file.read_decisions();
}

DecisionSet read_decisions(const Origin& origin) {
  if (!origin.server.empty()) return fetch_remotely(origin.server, origin.generation);
  if (!origin.table.empty()) return read_table(origin);
  return read_published(origin.database, origin.generation);
}

}  // namespace colltune
