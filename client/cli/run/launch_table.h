// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "source/origin.h"
#include "table_facts.h"

namespace colltune {

/// The table file that a launch's ranks read, and what it says.
struct LaunchTable {
  TableFacts facts;
  std::string digest;  ///< of the table
  std::string bytes;   ///< of the file; empty: it lies in the launch's folder already
  /// What to remember it by (KnownTables) once it lies there; empty: not to be remembered.
  std::optional<std::string> state{};
};

/// What a table file is called in the folder of a launch.
[[nodiscard]] std::filesystem::path table_file_in(const std::filesystem::path& folder,
                                                  const std::string& digest);

/// The decisions of `origin` for ordinary calls, in `environment` (empty: the only one). A table
/// that was made of the same snapshot before is taken from `folder`. `without_sums`: as
/// find_table_facts has it. Throws Error(not_found) if there is none, Error(invalid_argument) if
/// they are of several environments and none is chosen.
[[nodiscard]] LaunchTable read_launch_table(const Origin& origin, const std::string& environment,
                                            bool without_sums, const std::filesystem::path& folder);

}  // namespace colltune
