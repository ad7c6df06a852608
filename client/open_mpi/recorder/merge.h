// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <vector>

#include "colltune/trace/trace.h"

namespace colltune {

/// The ranks in MPI_COMM_WORLD of a communicator's members, in their order; only their number, as
/// one negative number, if some are none of its ranks.
[[nodiscard]] std::vector<int> members_in_world(MPI_Comm comm);

/// The members of a process's communicators, in bounded memory. Where they lie is known in the end.
class Layouts {
 public:
  /// The number of the communicator's layout. `is_first`: this rank counts it for all.
  [[nodiscard]] std::uint32_t number_of(std::vector<int> members, bool is_first);
  /// The worlds of all layouts, by number, on ranks that lie on nodes so (`node_of` a rank of
  /// MPI_COMM_WORLD).
  [[nodiscard]] std::vector<TracedWorld> worlds(const std::vector<int>& node_of) const;

 private:
  // Of members that are kept; of further communicators the number of members alone.
  static constexpr std::size_t most_members = std::size_t{1} << 20U;

  std::map<std::vector<int>, std::uint32_t> numbers_;
  std::vector<std::uint64_t> communicators_;
  std::size_t members_ = 0;
};

/// Collective over MPI_COMM_WORLD. The first rank gets what all recorded; `own` has what a rank
/// knows without the others, `counts` are by layout.
[[nodiscard]] Trace merge_ranks(Trace own, const CallCounts& counts, const Layouts& layouts);

}  // namespace colltune
