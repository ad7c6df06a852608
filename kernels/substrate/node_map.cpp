// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "node_map.h"

#include <algorithm>
#include <map>

#include "colltune/kernels/communicator.h"
#include "colltune/vocabulary/error.h"

namespace colltune {

std::vector<int> renumber_nodes(std::span<const int> node_of_rank) {
  std::map<int, int> numbers;
  std::vector<int> nodes;
  nodes.reserve(node_of_rank.size());
  for (const int node : node_of_rank)
    nodes.push_back(numbers.try_emplace(node, static_cast<int>(numbers.size())).first->second);
  return nodes;
}

bool is_one_node(std::span<const int> nodes) {
  return std::ranges::all_of(nodes, [](int node) { return node == 0; });
}

void require_one_node(const Communicator& communicator) {
  if (!communicator.is_one_node())
    throw Error(StatusCode::failed_precondition,
                "symmetric memory needs all ranks on one node; these are on several");
}

}  // namespace colltune
