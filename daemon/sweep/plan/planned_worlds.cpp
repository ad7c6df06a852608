// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "planned_worlds.h"

#include <algorithm>
#include <utility>

namespace colltune {
namespace {

int kind_of(const Availability& availability, int rank) {
  return availability.kind_of_rank[static_cast<std::size_t>(rank)];
}

}  // namespace

void add_world(std::vector<PlannedWorld>& worlds, const Availability& availability,
               std::vector<int> ranks) {
  Topology topology = topology_of(availability, ranks);
  if (std::ranges::any_of(worlds, [&](const PlannedWorld& other) {
        return other.topology == topology && other.ranks != ranks;
      }))
    topology.layout_digest = digest_of_capabilities(availability, ranks);
  Members members = members_of(availability, ranks);
  worlds.push_back(
      {.topology = std::move(topology), .ranks = std::move(ranks), .members = std::move(members)});
}

void add_partial_world(std::vector<PlannedWorld>& worlds, const Availability& availability,
                       std::vector<int> ranks) {
  const Topology topology = topology_of(availability, ranks);
  const Members members = members_of(availability, ranks);
  if (std::ranges::none_of(worlds, [&](const PlannedWorld& other) {
        return other.ranks == ranks ||
               (other.ranks.size() == ranks.size() && other.members == members &&
                topology_of(availability, other.ranks) == topology);
      }))
    add_world(worlds, availability, std::move(ranks));
}

std::vector<int> kinds_of(const PlannedWorld& world, const Availability& availability) {
  std::vector<int> kinds;
  for (const int rank : world.ranks) {
    const int kind = kind_of(availability, rank);
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds;
}

std::vector<int> ranks_of_kinds(const PlannedWorld& world, const Availability& availability,
                                const std::vector<int>& kinds) {
  std::vector<int> ranks;
  for (const int rank : world.ranks)
    if (std::ranges::binary_search(kinds, kind_of(availability, rank))) ranks.push_back(rank);
  return ranks;
}

}  // namespace colltune
