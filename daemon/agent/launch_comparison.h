// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "colltune/vocabulary/environment.h"

namespace colltune {

/// The first and the last number of each run of consecutive ones among ascending `numbers`.
[[nodiscard]] std::vector<std::pair<int, int>> ranges_of(const std::vector<int>& numbers);
/// The same for a person: "0-3,8".
[[nodiscard]] std::string render_ranges(const std::vector<int>& numbers);

/// What the ranks of a launch told of their processes.
struct LaunchProcesses {
  std::vector<Environment> kinds;  ///< each different one once
  std::vector<int> kind_of_rank;   ///< index into `kinds`
  std::vector<std::string> hosts;  ///< of each rank
};

/// Throws Error(failed_precondition) with a table of builds, ranks and hosts where ranks run unlike
/// builds: their messages to each other would not mean the same.
void require_one_build(const LaunchProcesses& launch);

/// A line for each other fact in which ranks differ: the values, and who has which.
[[nodiscard]] std::vector<std::string> differences_of(const LaunchProcesses& launch);

/// How many ranks run where, for a person.
[[nodiscard]] std::string describe(const LaunchProcesses& launch);

}  // namespace colltune
