// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/model/speed_of_light/device.h"
#include "colltune/model/speed_of_light/latency.h"
#include "colltune/vocabulary/annotation/annotation.h"

namespace colltune::speed_of_light {

/// The most ranks of a program.
inline constexpr std::int64_t most_world_ranks = std::int64_t{1} << 20;

/// Groups of equally many ranks, as HLO prints them in its short form: the ranks from 0 on, in
/// row-major order an array of `dimensions`; the array with its dimensions in `order`; and that, in
/// row-major order again, cut into `groups` groups of `size`.
struct GroupTiles {
  int groups = 1;
  int size = 1;
  std::vector<int> dimensions;
  std::vector<int> order;  ///< a permutation of the dimensions' numbers

  friend bool operator==(const GroupTiles&, const GroupTiles&) = default;
};

/// Reads "[32,8]<=[256]" and "[4,2]<=[2,4]T(1,0)", what HLO prints behind `replica_groups=`;
/// without T the dimensions stay in their order. Throws Error(invalid_argument) that quotes the
/// text and names what is wrong: the place where it is not of this form, more than 2^20 ranks, a
/// product of groups and size that is not that of the dimensions, an order that is no permutation
/// of them.
[[nodiscard]] GroupTiles parse_group_tiles(std::string_view text);

/// The ranks of each group, as a list would give them: "[4,2]<=[2,4]T(1,0)" is {0,4}, {1,5}, {2,6},
/// {3,7}.
[[nodiscard]] std::vector<std::vector<int>> list_groups(const GroupTiles& tiles);

/// How the groups of an entry lie on the nodes.
struct EntryGroups {
  Communicator largest;  ///< of unlike groups the one on the most nodes, then the one of most ranks
  bool are_equal = true;
};

/// How the groups of a program's entries lie on its nodes. Short forms are remembered: a program of
/// many collectives has few of them, and each stands for up to 2^20 ranks. Not thread-safe.
class GroupLayouts {
 public:
  GroupLayouts(int nodes, const Device& device) : nodes_(nodes), per_node_(device.gpus_per_node) {}

  [[nodiscard]] int nodes() const { return nodes_; }

  /// Throws Error(invalid_argument) that says what is wrong: less than 1 node, more than 2^20
  /// ranks; groups in more than one form; a list with an empty group, a rank that does not exist or
  /// is there twice; a short form that is none or does not cover the world; a group with more ranks
  /// on one of its nodes than on another; different short forms of more than 2^24 ranks in all.
  [[nodiscard]] EntryGroups of(const CollectiveEntry& entry);

 private:
  [[nodiscard]] EntryGroups of_list(const std::vector<std::vector<int>>& groups) const;
  [[nodiscard]] EntryGroups of_counts(const ReplicaCounts& counts);
  [[nodiscard]] EntryGroups of_tiles(const std::string& text);
  /// `what` says for an error how many ranks there are.
  void check_covers(std::int64_t ranks, const std::string& what) const;
  [[nodiscard]] std::int64_t world() const { return std::int64_t{nodes_} * per_node_; }

  int nodes_;
  int per_node_;
  std::map<std::string, EntryGroups, std::less<>> remembered_;  ///< by the text of the tiles
  std::int64_t listed_ranks_ = 0;                               ///< of all that is remembered
};

}  // namespace colltune::speed_of_light
