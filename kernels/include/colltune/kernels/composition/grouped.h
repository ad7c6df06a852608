// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/kernels/catalogue.h"

// A collective by groups of ranks, each of which uses its own variant: for launches in which some
// ranks lack one. First the ranks of a group do a stage with their leader, then the leaders run the
// bridge among the groups, then a stage inside the groups distributes the results. Each stage is a
// separate collective, with any variant of the catalogue, on a communicator of those ranks. The
// leader is the root in the root's group, and the lowest rank in the others. A group of one rank
// has no inner stages. The stages of an average are sums, which the leaders divide after the
// bridge.

namespace colltune {

/// The problems of one group, and of all leaders together: separate collectives, out of place or in
/// place as fits. Message sizes are whole blocks: nothing is rounded.
struct GroupedStages {
  std::optional<Problem> before{};  ///< inside the group, among as many ranks as it has
  Problem bridge{};                 ///< among as many ranks as there are groups
  std::optional<Problem> after{};   ///< inside the group

  friend auto operator<=>(const GroupedStages&, const GroupedStages&) = default;
};

/// The variants of a group's own stages; nothing for a stage that the group does not have.
struct GroupVariants {
  std::optional<Variant> before{};
  std::optional<Variant> after{};

  friend auto operator<=>(const GroupVariants&, const GroupVariants&) = default;
};

/// Which rank is in which group, and which variants do the stages.
struct Grouping {
  std::vector<int> group_of_rank;     ///< by rank; numbered from 0, without gaps
  std::vector<GroupVariants> inside;  ///< by group
  Variant bridge;

  friend auto operator<=>(const Grouping&, const Grouping&) = default;
};

/// The number of ranks of each group. Throws Error(invalid_argument) if the groups are not numbered
/// from 0 with at least one rank each.
[[nodiscard]] std::vector<int> group_sizes(std::span<const int> group_of_rank);

/// Empty if groups of these sizes can do `problem`, else the reason for a person, which continues
/// "unavailable: ".
[[nodiscard]] std::string why_not_grouped(const Problem& problem, std::span<const int> sizes);

/// The stages of `group`, among groups of these sizes, for a problem that such groups can do. If
/// groups differ in size, the bridge's blocks are as long as the largest group's.
[[nodiscard]] GroupedStages grouped_stages(const Problem& problem, std::span<const int> sizes,
                                           int group);

/// The part of a topology that implementations look at to answer for a stage: nodes and ranks.
struct GroupTopologies {
  std::vector<Topology> inside;  ///< by group
  Topology bridge;  ///< of the leaders; if it depends on the root, one with the most nodes
};
/// `nodes`: the node of each rank. Throws as group_sizes does, and if the two lists differ in
/// length.
[[nodiscard]] GroupTopologies grouped_topologies(std::span<const int> nodes,
                                                 std::span<const int> group_of_rank,
                                                 Collective collective);

/// The ranks that should do a collective by groups.
struct GroupedRanks {
  std::vector<int> nodes;                ///< of each rank
  std::vector<Capability> capabilities;  ///< of each rank
};
/// Whether they can: every rank must support its group's stages, and every possible leader must
/// support the bridge. If the collective has a root, any rank may be the leader. Throws
/// Error(invalid_argument) if the grouping does not fit this problem (see prepare_grouped), or if
/// the numbers of ranks differ.
[[nodiscard]] Support supports_grouped(const Problem& problem, const Grouping& grouping,
                                       const GroupedRanks& ranks, const Implementations& catalogue);

/// What the stages guarantee together. Sums are rounded when one stage passes them to the next, and
/// sums of averages before they are divided. Reductions are never in rank order. Throws as
/// supports_grouped does.
[[nodiscard]] Numerics grouped_numerics(const Problem& problem, const Grouping& grouping,
                                        const Implementations& catalogue);

/// The sum of the stages; an inner stage costs what it costs in the slowest group. Does not count
/// what a leader does within its own memory: copies that reorder blocks, the division of an
/// average. Throws as supports_grouped does.
[[nodiscard]] Cost grouped_cost(const Problem& problem, const Grouping& grouping,
                                const GroupTopologies& topologies,
                                const Implementations& catalogue);

/// Prepares `call` by groups: one operation of all stages. Either all of the ranks' buffers and all
/// variants of the stages are on devices, or none is.
/// Collective. All ranks throw or none, except for RankMissing. Errors in the arguments that all
/// ranks pass alike (numbers of groups, unknown names, stages without a variant or variants without
/// a stage, limits) are Error(invalid_argument), thrown before any rank waits for another. The
/// operation owns its communicators and intermediate memory; the catalogue, `communicator` and the
/// buffers outlive it. In addition to what the variants need, a leader keeps up to two messages of
/// the bridge and one of its group. After a failed wait the operation refuses to start.
/// With a capacity it takes other sizes, roots, types and places by Operation::rebind, if all
/// stages do: each rank may then lead its group, so with a root there are as many bridges as ranks,
/// less the groups, plus one.
[[nodiscard]] std::unique_ptr<Operation> prepare_grouped(Communicator& communicator,
                                                         const Call& call, const Grouping& grouping,
                                                         const Implementations& catalogue,
                                                         Deadline deadline);

}  // namespace colltune
