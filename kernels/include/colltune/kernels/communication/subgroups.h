// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <vector>

#include "colltune/kernels/communicator.h"

namespace colltune {

/// Communicators of subsets of one communicator's ranks. Each partition of the ranks is made once
/// and kept, so a caller that reduces over the same groups repeatedly pays for them once. Not
/// thread-safe; all ranks ask in the same order.
class Subgroups {
 public:
  /// How many partitions are kept. Beyond that, the least recently used one is dropped, as soon as
  /// nothing runs on it any more. An MPI library allows some ten thousand communicators.
  static constexpr std::size_t most_kept = 64;

  /// `all` outlives this object and everything obtained from it.
  explicit Subgroups(Communicator& all) : all_(all) {}

  struct Group {
    /// Ranks in the order of `all`. If all ranks are one group, this is the caller's own
    /// communicator.
    std::shared_ptr<Communicator> communicator;
    std::vector<int> members;           ///< ranks of `all`
    std::chrono::nanoseconds making{};  ///< how long this rank took to make it
  };
  /// This rank's group. `group_of_rank` has the group of every rank, numbered from 0. Collective
  /// over all ranks. Throws Error(invalid_argument) if its length is not the number of ranks.
  [[nodiscard]] const Group& of(const std::vector<int>& group_of_rank, Deadline deadline);

  [[nodiscard]] Communicator& all() const { return all_; }
  /// How many partitions are kept now.
  [[nodiscard]] std::size_t kept() const { return kept_.size(); }

 private:
  struct Kept {
    std::vector<int> group_of_rank;
    Group group;
  };
  Communicator& all_;
  std::list<Kept> kept_;  ///< most recently used first
};

}  // namespace colltune
