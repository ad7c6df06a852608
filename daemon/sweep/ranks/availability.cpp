// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/ranks/availability.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "colltune/sweep/ranks/capability_merge.h"
#include "colltune/sweep/ranks/capability_rules.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

/// Name of the feature that holds the fact "fabric" of a rank's environment.
constexpr std::string_view fabric_feature = "net.fabric";

std::map<int, std::vector<int>> ranks_by_node(const Availability& availability) {
  std::map<int, std::vector<int>> nodes;
  for (int rank = 0; rank < availability.ranks(); ++rank)
    nodes[availability.node_of_rank[static_cast<std::size_t>(rank)]].push_back(rank);
  return nodes;
}

/// shared_device if several ranks of the launch use one device and buffers lie on devices;
/// oversubscribed if some node has more ranks of the world than cores. Ranks beyond the world sleep
/// on the control plane while the world measures.
Placement placement_of(const Availability& availability, std::span<const int> ranks) {
  std::map<int, int> ranks_on_node;
  for (const int rank : ranks)
    ++ranks_on_node[availability.node_of_rank[static_cast<std::size_t>(rank)]];
  for (const int rank : ranks) {
    const Capability& capability = availability.capability_of(rank);
    if (capability.is_on_device()) {
      if (ranks.size() > 1 && capability.number("device.ranks") > 1)
        return Placement::shared_device;
      continue;
    }
    const std::int64_t cores = capability.number("cpu.cores");
    const int node = availability.node_of_rank[static_cast<std::size_t>(rank)];
    if (cores > 0 && ranks_on_node[node] > cores) return Placement::oversubscribed;
  }
  return Placement::dedicated;
}

}  // namespace

Availability merge_capabilities(std::span<const Capability> ranks,
                                std::span<const int> node_of_rank) {
  CapabilityKinds all;
  for (const Capability& own : ranks) all = merge(all, {.kinds = {own}, .kind_of_rank = {0}});
  return {.kinds = std::move(all.kinds),
          .kind_of_rank = std::move(all.kind_of_rank),
          .node_of_rank = {node_of_rank.begin(), node_of_rank.end()}};
}

Availability exchange_capabilities(ControlPlane& control, const Communicator& communicator,
                                   const Capability& own) {
  CapabilityKinds all = exchange_kinds(control, own);
  return {.kinds = std::move(all.kinds),
          .kind_of_rank = std::move(all.kind_of_rank),
          .node_of_rank = {communicator.nodes().begin(), communicator.nodes().end()}};
}

std::vector<int> node_major_ranks(const Availability& availability) {
  std::vector<int> ranks;
  for (const auto& [node, on_node] : ranks_by_node(availability))
    ranks.insert(ranks.end(), on_node.begin(), on_node.end());
  return ranks;
}

std::vector<int> ranks_of_world(const Availability& availability, const WorldSpec& world,
                                std::string_view remedy) {
  const auto nodes = ranks_by_node(availability);
  const auto refuse = [&](const std::string& launch) {
    throw Error(StatusCode::invalid_argument,
                fmt::format("the world of {} node(s) with {} rank(s) each is larger than the "
                            "launch, which has {}; {}",
                            world.nodes, world.ranks_per_node, launch, remedy));
  };
  if (static_cast<std::size_t>(world.nodes) > nodes.size())
    refuse(fmt::format("{} node(s) with {} rank(s) in all", nodes.size(), availability.ranks()));
  std::vector<int> ranks;
  for (const auto& [node, on_node] : nodes) {
    if (node >= world.nodes) break;
    if (on_node.size() < static_cast<std::size_t>(world.ranks_per_node))
      refuse(fmt::format("{} rank(s) on node {}", on_node.size(), node));
    ranks.insert(ranks.end(), on_node.begin(), on_node.begin() + world.ranks_per_node);
  }
  return ranks;
}

Topology topology_of(const Availability& availability, std::span<const int> ranks) {
  Topology topology;
  std::map<std::string, int> architectures;
  std::map<int, int> node_numbers;  // numbered anew, since the world may hold only some of the
                                    // nodes
  std::vector<int> ranks_on_node;
  std::string layout;
  bool is_node_major = true;
  bool has_distinctions = false;
  std::vector<std::string_view> unlike;  // features whose values differ between the ranks
  for (const std::string_view feature : {fabric_feature, build_feature}) {
    const std::string_view first = availability.capability_of(ranks.front()).value(feature);
    if (std::ranges::any_of(ranks, [&](int rank) {
          return availability.capability_of(rank).value(feature) != first;
        }))
      unlike.push_back(feature);
  }
  int last_node = 0;
  for (const int rank : ranks) {
    const Capability& capability = availability.capability_of(rank);
    const auto& architecture = capability.architecture;
    std::string distinctions = distinctions_of(capability);
    for (const std::string_view feature : unlike)
      distinctions.append("+").append(capability.value(feature));
    has_distinctions = has_distinctions || !distinctions.empty();
    const int launch_node = availability.node_of_rank[static_cast<std::size_t>(rank)];
    const int node =
        node_numbers.try_emplace(launch_node, static_cast<int>(node_numbers.size())).first->second;
    ++architectures[architecture];
    ranks_on_node.resize(node_numbers.size());
    ++ranks_on_node[static_cast<std::size_t>(node)];
    is_node_major = is_node_major && node >= last_node;
    last_node = node;
    layout += fmt::format("{}:{}{};", node, architecture, distinctions);
  }
  topology.nodes = static_cast<int>(node_numbers.size());
  topology.ranks = static_cast<int>(ranks.size());
  topology.ranks_per_node = *std::ranges::max_element(ranks_on_node);
  for (const auto& [architecture, count] : architectures)
    topology.architectures.push_back({.architecture = architecture, .ranks = count});
  const bool is_even = std::ranges::all_of(
      ranks_on_node, [&](int count) { return count == topology.ranks_per_node; });
  topology.layout_digest =
      is_node_major && is_even && architectures.size() == 1 && !has_distinctions
          ? std::string("uniform")
          : digest_of_text(layout);
  topology.interconnect = topology.nodes == 1 ? "shared-memory" : "network";
  topology.placement = placement_of(availability, ranks);
  return topology;
}

MemberKind member_kind(const Capability& capability) {
  MemberKind kind{.architecture = capability.architecture, .features = {}};
  for (const auto& [name, value] : capability.features)
    kind.features.push_back(value.empty() ? name : fmt::format("{}={}", name, value));
  return kind;
}

Members members_of(const Availability& availability, std::span<const int> ranks) {
  std::map<int, MemberKind> kinds;  // by number in the launch
  const auto kind_of = [&](int rank) {
    return availability.kind_of_rank[static_cast<std::size_t>(rank)];
  };
  for (const int rank : ranks)
    if (!kinds.contains(kind_of(rank)))
      kinds.emplace(kind_of(rank), member_kind(availability.capability_of(rank)));
  Members members;
  for (const auto& [number, kind] : kinds) members.kinds.push_back(kind);
  std::ranges::sort(members.kinds);
  const auto repeated = std::ranges::unique(members.kinds);
  members.kinds.erase(repeated.begin(), repeated.end());
  for (const int rank : ranks)
    members.kind_of_rank.push_back(static_cast<int>(
        std::ranges::lower_bound(members.kinds, kinds.at(kind_of(rank))) - members.kinds.begin()));
  return members;
}

std::string digest_of_capabilities(const Availability& availability, std::span<const int> ranks) {
  std::string text;
  std::map<int, int> node_numbers;  // numbered anew, as in topology_of
  for (const int rank : ranks) {
    const Capability& capability = availability.capability_of(rank);
    const int node = node_numbers
                         .try_emplace(availability.node_of_rank[static_cast<std::size_t>(rank)],
                                      static_cast<int>(node_numbers.size()))
                         .first->second;
    text += fmt::format("{}:{}", node, capability.architecture);
    for (const auto& [name, value] : capability.features)
      text += fmt::format("+{}={}", name, value);
    text += ';';
  }
  return digest_of_text(text);
}

}  // namespace colltune
