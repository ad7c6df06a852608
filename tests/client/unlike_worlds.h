// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/members.h"
#include "literal_decisions.h"

/// Worlds of unlike ranks, for tests of lookups that say what their members can do.
namespace colltune::testing {

/// The members in their one form, from what each rank is.
inline Members members_of(const std::vector<MemberKind>& ranks) {
  Members members{.kinds = ranks, .kind_of_rank = {}};
  std::ranges::sort(members.kinds);
  members.kinds.erase(std::unique(members.kinds.begin(), members.kinds.end()), members.kinds.end());
  for (const MemberKind& kind : ranks)
    members.kind_of_rank.push_back(
        static_cast<int>(std::ranges::lower_bound(members.kinds, kind) - members.kinds.begin()));
  return members;
}

/// What the ranks of `members` run together: each kind a variant of its own.
inline Composition composition_for(const Members& members) {
  Composition composition{.mode = CompositionMode::substituted, .parts = {}};
  for (std::size_t kind = 0; kind < members.kinds.size(); ++kind)
    composition.parts.push_back(
        {.role = PartRole::whole,
         .kinds = {digest_of_value(members.kinds[kind])},
         .variant = parse_variant("cpu.ring{kind=" + std::to_string(kind) + "}")});
  return composition;
}

inline std::string composed_variant(const Members& members) {
  return "substituted.cpu.ring{parts=" + parts_name(composition_for(members)) + "}";
}

/// A world on one node; `layout` tells worlds of as many ranks apart.
inline Topology topology_of(int ranks, const std::string& layout) {
  Topology topology = test_topology();
  topology.ranks_per_node = topology.ranks = topology.architectures.front().ranks = ranks;
  topology.layout_digest = layout;
  return topology;
}

/// The decision of a sweep for a world: what is composed wins, then comes what one variant does.
inline Decision unlike_decision(const std::string& sweep, std::uint64_t bytes,
                                const Topology& topology, const Members& members) {
  Decision made = decision(test_key(bytes, topology), {ranked(composed_variant(members), 900, 2.2),
                                                       ranked("cpu.one_shot{n=2}", 1000, 2.0),
                                                       ranked("mpi.default", 2000, 1.0)});
  made.sweep_uuid = sweep;
  return made;
}

}  // namespace colltune::testing
