// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/number_ranges.h"

namespace colltune {

/// What is known of one process: what makes its times comparable, and what is only recorded.
struct ProcessFacts {
  Environment environment;
  Provenance provenance;
};
/// Calls `visit` with the name and the text of each fact.
template <class Visit>
void visit_all_facts(const ProcessFacts& process, Visit&& visit) {
  visit_facts(process.provenance, visit);
  visit_facts(process.environment, visit);
}

/// The facts and hosts that the ranks of a launch reported.
struct LaunchProcesses {
  std::vector<ProcessFacts> kinds;  ///< each different one once
  std::vector<int> kind_of_rank;   ///< index into `kinds`
  std::vector<std::string> hosts;  ///< of each rank
};

/// What distinguishes builds: this project's version and build, and the libraries it runs with.
[[nodiscard]] std::string build_of(const ProcessFacts& process);

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
