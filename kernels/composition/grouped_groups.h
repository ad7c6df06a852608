// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "colltune/kernels/composition/grouped.h"

namespace colltune {

/// Which rank is in which group, and the leader of each.
struct Groups {
  /// `root`: the call's root, if the collective has one. Throws as group_sizes does.
  Groups(std::span<const int> group_of_rank, std::optional<int> root);

  [[nodiscard]] int count() const { return static_cast<int>(sizes.size()); }
  [[nodiscard]] int ranks() const { return static_cast<int>(group_of_rank.size()); }
  [[nodiscard]] int group_of(int rank) const {
    return group_of_rank[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const std::vector<int>& of_group(int group) const {
    return members[static_cast<std::size_t>(group)];
  }
  [[nodiscard]] int size(int group) const { return sizes[static_cast<std::size_t>(group)]; }
  [[nodiscard]] int largest() const;
  [[nodiscard]] int leader(int group) const { return leaders[static_cast<std::size_t>(group)]; }
  /// The index of the leader among the ranks of its group.
  [[nodiscard]] int place_of_leader(int group) const;

  std::vector<int> group_of_rank;
  std::vector<int> sizes;                 ///< by group
  std::vector<std::vector<int>> members;  ///< by group, in rank order
  std::vector<int> leaders;               ///< by group
  int root_group = 0;                     ///< 0 without a root
};

/// The implementations of the stages; null only if there is no such stage.
struct GroupedImplementations {
  struct Inside {
    const Implementation* before = nullptr;
    const Implementation* after = nullptr;
  };
  std::vector<Inside> inside;  ///< by group
  const Implementation* bridge = nullptr;
};

/// Finds them. Throws Error(invalid_argument), with what is wrong and what is allowed, if the
/// grouping does not fit the problem.
[[nodiscard]] GroupedImplementations find_implementations(const Problem& problem,
                                                          const Grouping& grouping,
                                                          const Implementations& catalogue);

/// Throws Error(invalid_argument) if a stage is outside the limits of its variant.
void check_limits(const Problem& problem, const Grouping& grouping,
                  const GroupedImplementations& implementations);

}  // namespace colltune
