// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/kernels/capability.h"
#include "colltune/kernels/communicator.h"
#include "colltune/sweep/control/control_plane.h"
#include "colltune/sweep/spec/sweep_spec.h"
#include "colltune/vocabulary/members.h"
#include "colltune/vocabulary/topology.h"

namespace colltune {

/// Names a rank's build of this project and its libraries, in launches whose ranks have different
/// builds.
inline constexpr std::string_view build_feature = "build";

/// What every rank of the launch can do and where it lives. Ranks of equal capability are of one
/// kind. The kinds are ordered by value, so the same ranks give the same numbers in any order.
struct Availability {
  std::vector<Capability> kinds;
  std::vector<int> kind_of_rank;  ///< index into `kinds`
  std::vector<int> node_of_rank;  ///< numbered from 0 in order of first appearance

  [[nodiscard]] int ranks() const { return static_cast<int>(kind_of_rank.size()); }
  [[nodiscard]] const Capability& capability_of(int rank) const {
    return kinds[static_cast<std::size_t>(kind_of_rank[static_cast<std::size_t>(rank)])];
  }

  friend bool operator==(const Availability&, const Availability&) = default;
};

/// Numbers the distinct capabilities among `ranks` (one per rank, in rank order).
[[nodiscard]] Availability merge_capabilities(std::span<const Capability> ranks,
                                              std::span<const int> node_of_rank);

/// Collective: merges every rank's capability once; the same on all ranks.
[[nodiscard]] Availability exchange_capabilities(ControlPlane& control,
                                                 const Communicator& communicator,
                                                 const Capability& own);

/// All ranks of the launch, node by node: the order from which worlds are made.
[[nodiscard]] std::vector<int> node_major_ranks(const Availability& availability);
/// The ranks of a sub-world in node-major order. Throws Error(invalid_argument) if the launch is
/// too small; the message names both sizes, and ends with `remedy`.
[[nodiscard]] std::vector<int> ranks_of_world(
    const Availability& availability, const WorldSpec& world,
    std::string_view remedy = "start more ranks, or make /worlds smaller");

/// The topology of these ranks of the launch. `ranks` must not be empty. Placement follows from the
/// capabilities "cpu.cores" and "device.ranks"; ranks of the launch beyond `ranks` sleep and do not
/// count.
[[nodiscard]] Topology topology_of(const Availability& availability, std::span<const int> ranks);

/// What the ranks of a kind can do, in the form that is stored and looked up.
[[nodiscard]] MemberKind member_kind(const Capability& capability);
[[nodiscard]] Members members_of(const Availability& availability, std::span<const int> ranks);

/// A digest of the nodes and all capabilities of these ranks, in order. It replaces the layout
/// digest if that would be the same for ranks of different capability.
[[nodiscard]] std::string digest_of_capabilities(const Availability& availability,
                                                 std::span<const int> ranks);

}  // namespace colltune
