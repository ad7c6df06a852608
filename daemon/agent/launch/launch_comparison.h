// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/number_ranges.h"

namespace colltune {

/// The environments and hosts that the ranks of a launch reported.
struct LaunchProcesses {
  std::vector<Environment> kinds;  ///< each different environment once
  std::vector<int> kind_of_rank;   ///< index into `kinds`
  std::vector<std::string> hosts;  ///< of each rank
};

/// What distinguishes builds: this project's version and build, and the libraries it runs with.
[[nodiscard]] std::string build_of(const Environment& environment);

/// Whether ranks run different builds (build_of). Throws Error(failed_precondition) with a table of
/// builds, ranks and hosts if they do and `may_differ` is not set. Also throws if they run
/// different versions of this project, since the programs would not understand each other's
/// messages.
[[nodiscard]] bool are_builds_unlike(const LaunchProcesses& launch, bool may_differ);

/// One line for each other fact in which ranks differ: the values, and the ranks that have each.
[[nodiscard]] std::vector<std::string> differences_of(const LaunchProcesses& launch);

/// How many ranks run where, for a person.
[[nodiscard]] std::string describe(const LaunchProcesses& launch);

}  // namespace colltune
