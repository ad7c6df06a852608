// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "colltune/vocabulary/topology.h"

namespace colltune::cpu {

/// The ranks of several nodes, by node and by place: a rank's place is its index among the ranks of
/// its node.
class NodeGrid {
 public:
  /// `node_of_rank` numbers the nodes from 0; empty: all `ranks` are on one node.
  NodeGrid(int ranks, std::span<const int> node_of_rank) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const auto node = node_of_rank.empty() ? 0U : static_cast<std::size_t>(node_of_rank[at]);
      if (node >= ranks_.size()) ranks_.resize(node + 1);
      ranks_[node].push_back(rank);
    }
  }
  /// Whether all nodes have the same number of ranks: the functions below need that.
  [[nodiscard]] bool is_even() const {
    return std::ranges::all_of(
        ranks_, [&](const std::vector<int>& node) { return node.size() == ranks_.front().size(); });
  }
  [[nodiscard]] int nodes() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] int places() const { return static_cast<int>(ranks_.front().size()); }
  [[nodiscard]] int rank(int node, int place) const {
    return ranks_[static_cast<std::size_t>(node)].at(static_cast<std::size_t>(place));
  }
  [[nodiscard]] const std::vector<int>& of_node(int node) const {
    return ranks_[static_cast<std::size_t>(node)];
  }
  /// The rank with `place` on each node.
  [[nodiscard]] std::vector<int> of_place(int place) const {
    std::vector<int> ranks;
    for (int node = 0; node < nodes(); ++node) ranks.push_back(rank(node, place));
    return ranks;
  }

 private:
  std::vector<std::vector<int>> ranks_;
};

/// Why the ranks of `topology` form no grid in which a level in both directions is useful, for a
/// person; empty if they do.
[[nodiscard]] inline std::string why_no_grid(const Topology& topology) {
  if (topology.nodes < 2 || topology.ranks_per_node < 2)
    return "it needs several nodes with several ranks each";
  if (topology.ranks != topology.nodes * topology.ranks_per_node)
    return "it needs as many ranks on each node";
  return {};
}

}  // namespace colltune::cpu
