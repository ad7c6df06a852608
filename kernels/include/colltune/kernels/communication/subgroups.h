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

/// Communicators of parts of one communicator's ranks, each way to part them made once and kept: a
/// caller that reduces over groups again and again does not pay for them again and again. Not
/// thread-safe; all ranks ask in the same order.
class Subgroups {
 public:
  /// So many ways to part the ranks are kept; then the one that was not asked for the longest goes,
  /// as soon as nothing runs on it any more. An MPI library has some ten thousand communicators.
  static constexpr std::size_t most_kept = 64;

  /// `all` outlives this object and what it gave.
  explicit Subgroups(Communicator& all) : all_(all) {}

  struct Group {
    /// Ordered by the rank among all. Where all ranks are one group, that is the caller's own.
    std::shared_ptr<Communicator> communicator;
    std::vector<int> members;             ///< as ranks among all
    std::chrono::nanoseconds making{};    ///< what it took this rank when it was made
  };
  /// This rank's group. `group_of_rank` says it for all ranks, in numbers from 0 on. Collective over
  /// all ranks. Throws Error(invalid_argument) for another number of ranks.
  [[nodiscard]] const Group& of(const std::vector<int>& group_of_rank, Deadline deadline);

  [[nodiscard]] Communicator& all() const { return all_; }
  /// How many ways are kept.
  [[nodiscard]] std::size_t kept() const { return kept_.size(); }

 private:
  struct Kept {
    std::vector<int> group_of_rank;
    Group group;
  };
  Communicator& all_;
  std::list<Kept> kept_;  ///< the last one that was asked for first
};

}  // namespace colltune
