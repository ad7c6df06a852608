// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace colltune {

/// Where answers come from: `--db FILE` or `--server ADDRESS`, one of them.
struct Origin {
  std::string database;
  std::string server;
  std::optional<std::uint64_t> generation;  ///< `--generation`: that very one
};

/// Throws Error(invalid_argument) where none or both are given.
void check(const Origin& origin);

}  // namespace colltune
