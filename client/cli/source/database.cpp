// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "database.h"

#include <iostream>

namespace colltune {

StoreReader open_database(const std::filesystem::path& path) {
  if (path.empty())
    throw Error(StatusCode::invalid_argument, "the name of the database (--db) is empty");
  if (!std::filesystem::exists(path))
    throw Error(StatusCode::failed_precondition,
                path.string() +
                    ": there is no such file; make one with: mpirun colltune-agent "
                    "sweep --config FILE --db " +
                    path.string());
  return StoreReader(path);
}

PublishedTable read_published(const std::filesystem::path& path,
                              const std::optional<std::uint64_t>& generation) {
  const std::filesystem::path snapshot = snapshot_path(path);
  auto table =
      open_database(std::filesystem::exists(snapshot) ? snapshot : path).published(generation);
  say_left_out(table.left_out);
  return table;
}

void say_left_out(const LeftOut& left_out) {
  if (left_out.rows > 0) std::cerr << "colltune: " << describe(left_out) << '\n';
}

}  // namespace colltune
