// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace colltune {

/// Where answers come from: exactly one of `--db FILE`, `--server ADDRESS` and `--table FILE`.
struct Origin {
  std::string database;
  std::string server;
  std::string table;
  std::optional<std::uint64_t> generation;  ///< `--generation`: exactly this one
};

/// Throws Error(invalid_argument) unless exactly one is given.
void check(const Origin& origin);

/// Reports on standard error how the environment of an answer was guessed, unless `why` is empty,
/// and how to name another.
void say_guess(const std::string& why);

}  // namespace colltune
