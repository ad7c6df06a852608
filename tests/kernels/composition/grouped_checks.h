// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "colltune/kernels/composition/grouped.h"
#include "conformance.h"

namespace colltune::test {

/// Of `bytes` of i32, to be summed where it reduces.
[[nodiscard]] Problem problem_of(Collective collective, std::uint64_t bytes);

/// Ranks of one node that can all do the same.
[[nodiscard]] GroupedRanks alike(std::size_t ranks);

/// Groups whose numbers, places and ranks are all unlike.
inline const std::vector<int> crossed{1, 0, 1, 0};

/// They, with short messages in each step.
[[nodiscard]] Grouping crossed_grouping(const Problem& problem);

/// Groups of so many ranks that are tried: halves (in order, in reverse, in turn), one rank beside
/// all others, three of unlike sizes, a group each.
[[nodiscard]] std::vector<std::vector<int>> groupings_of(int ranks);

/// Variants for the steps of `problem`, which follow one another in the catalogue as `turn` counts
/// on: unlike ones in neighbouring groups. Threads share what is `known`.
[[nodiscard]] Grouping choose_grouping(const Problem& problem, const std::vector<int>& groups,
                                       const GroupedRanks& ranks, const Implementations& catalogue,
                                       ChosenVariants& known, std::size_t turn);

/// As find_fault, by `groups` of ranks that are alike, with the first variants of `catalogue` that
/// can. Collective; never throws.
[[nodiscard]] std::string find_grouped_fault(Communicator& communicator,
                                             const ConformanceCase& test,
                                             const std::vector<int>& groups,
                                             const Implementations& catalogue,
                                             ChosenVariants& known);

/// What was run, for a test to see that it was enough.
struct GroupedRuns {
  int calls = 0;
  int unlike = 0;      ///< of them, with unlike variants in two groups
  int by_library = 0;  ///< of them, with a variant of the MPI library's as a step
};

/// Runs the cases of the conformance test, those that groups can do, with all collectives on
/// `groups`, and reports each fault to GoogleTest. Some of the cases, others with each `turn`,
/// by other variants; all where COLLTUNE_FULL=1 is set. Collective.
[[nodiscard]] GroupedRuns run_grouped(Communicator& communicator, const Implementations& catalogue,
                                      ChosenVariants& known, const std::vector<int>& groups,
                                      std::size_t turn);

}  // namespace colltune::test
