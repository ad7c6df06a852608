// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/number_ranges.h"

namespace colltune {

/// What the ranks of a launch told of their processes.
struct LaunchProcesses {
  std::vector<Environment> kinds;  ///< each different one once
  std::vector<int> kind_of_rank;   ///< index into `kinds`
  std::vector<std::string> hosts;  ///< of each rank
};

/// What tells builds apart: this project's version and build, and the libraries it runs with.
[[nodiscard]] std::string build_of(const Environment& environment);

/// Whether ranks run unlike builds (build_of). Throws Error(failed_precondition) with a table of
/// builds, ranks and hosts where they do and `may_differ` is not set, or where they are of unlike
/// versions of this project: what the programs say to each other would not mean the same.
[[nodiscard]] bool are_builds_unlike(const LaunchProcesses& launch, bool may_differ);

/// A line for each other fact in which ranks differ: the values, and who has which.
[[nodiscard]] std::vector<std::string> differences_of(const LaunchProcesses& launch);

/// How many ranks run where, for a person.
[[nodiscard]] std::string describe(const LaunchProcesses& launch);

}  // namespace colltune
