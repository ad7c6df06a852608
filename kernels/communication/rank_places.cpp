// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "rank_places.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/operation.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

std::vector<int> renumber(std::span<const int> node_of_rank) {
  std::map<int, int> numbers;
  std::vector<int> nodes;
  nodes.reserve(node_of_rank.size());
  for (const int node : node_of_rank)
    nodes.push_back(numbers.try_emplace(node, static_cast<int>(numbers.size())).first->second);
  return nodes;
}

}  // namespace

RankPlaces renumber_places(const RankPlaces& raw, int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  const std::vector<int> nodes = raw.node.empty() ? std::vector<int>(count) : renumber(raw.node);
  const auto within_nodes = [&](const std::vector<int>& places) {
    if (places.empty()) return nodes;
    std::set<int> shared;  // nodes with a rank that is bound to no single place
    for (std::size_t rank = 0; rank < count; ++rank)
      if (places[rank] < 0) shared.insert(nodes[rank]);
    std::map<std::pair<int, int>, int> numbers;
    std::vector<int> renumbered;
    for (std::size_t rank = 0; rank < count; ++rank) {
      const int place = shared.contains(nodes[rank]) ? -1 : places[rank];
      const int next = static_cast<int>(numbers.size());
      renumbered.push_back(numbers.try_emplace({nodes[rank], place}, next).first->second);
    }
    return renumbered;
  };
  return {.node = nodes, .numa = within_nodes(raw.numa), .cache = within_nodes(raw.cache)};
}

RankPlaces places_of_members(const RankPlaces& all, std::span<const int> members) {
  const auto select = [&](const std::vector<int>& places) {
    std::vector<int> selected;
    for (const int member : members) selected.push_back(places[static_cast<std::size_t>(member)]);
    return selected;
  };
  return renumber_places({select(all.node), select(all.numa), select(all.cache)},
                         static_cast<int>(members.size()));
}

std::string places_feature(Locality level) { return std::string(name_of(level)) + ".domains"; }

int count_places(const Capability& capability, Locality level) {
  const std::string_view text = capability.value(places_feature(level));
  int count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

bool Communicator::is_one_node() const {
  return std::ranges::all_of(nodes(), [](int node) { return node == 0; });
}

std::unique_ptr<Operation> Communicator::call_through_library(
    std::unique_ptr<Operation>& /*prepared*/, const Call& /*call*/) const {
  return nullptr;
}

void require_one_node(const Communicator& communicator) {
  if (!communicator.is_one_node())
    throw Error(StatusCode::failed_precondition,
                "symmetric memory needs all ranks on one node; these are on several");
}

}  // namespace colltune
