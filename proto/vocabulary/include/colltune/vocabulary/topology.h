// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "colltune/vocabulary/names.h"

namespace colltune {

/// How ranks share the devices that they run on. Stored and sent by name. Anything measured under a
/// placement other than `dedicated` has its own key, so that it never answers for a real topology.
enum class Placement {
  dedicated = 0,       ///< a core (or a GPU) per rank
  oversubscribed = 1,  ///< more ranks than cores on some node
  shared_device = 2,   ///< several ranks on one GPU
};
constexpr std::array<Named<Placement>, 3> enum_names(Placement) {
  return {{{Placement::dedicated, "dedicated"},
           {Placement::oversubscribed, "oversubscribed"},
           {Placement::shared_device, "shared_device"}}};
}
constexpr std::string_view enum_title(Placement) { return "placement"; }

struct ArchitectureCount {
  std::string architecture;  ///< "x86_64-avx2", "sm_90", …
  int ranks = 0;

  friend auto operator<=>(const ArchitectureCount&, const ArchitectureCount&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, ArchitectureCount>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("architecture", self.architecture);
  visit("ranks", self.ranks);
}

/// What a winner depends on in addition to the problem: how many ranks, where, on what, connected
/// how.
struct Topology {
  int nodes = 1;
  int ranks_per_node =
      1;  ///< the most ranks on any node; `layout_digest` distinguishes uneven worlds
  int ranks = 1;
  std::vector<ArchitectureCount>
      architectures;          ///< sorted by name; one entry if all ranks are alike
  std::string layout_digest;  ///< of the map from rank to node and architecture; "uniform" if ranks
                              ///< are node-major, even and alike
  std::string interconnect;   ///< class of the slowest link used: "shared-memory", "tcp", …
  Placement placement = Placement::dedicated;

  friend auto operator<=>(const Topology&, const Topology&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Topology>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("nodes", self.nodes);
  visit("ranks_per_node", self.ranks_per_node);
  visit("ranks", self.ranks);
  visit("architectures", self.architectures);
  visit("layout_digest", self.layout_digest);
  visit("interconnect", self.interconnect);
  visit("placement", self.placement);
}

/// For logs, tables and errors, for example "1x2 x86_64-avx2".
[[nodiscard]] std::string describe(const Topology& topology);
/// "x86_64-avx2", or "sm_80:4+sm_90:4" if ranks differ: the name that `--arch` takes.
[[nodiscard]] std::string architecture_name(const Topology& topology);

}  // namespace colltune
