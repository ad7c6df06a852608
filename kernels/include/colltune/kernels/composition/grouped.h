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

// A collective by groups of ranks, each of which uses a variant of its own: for launches in which
// some ranks lack one. The ranks of a group do a step before the bridge with their leader, the
// leaders bridge the groups, and a step after it hands results on; each step is a collective by
// itself, with any variant of the catalogue, on a communicator of those ranks. The leader is the
// root in the root's group, else the lowest rank. A group of one rank has no steps of its own. The
// steps of an average are sums, which the leaders divide behind the bridge.

namespace colltune {

/// What one group is asked for, and all leaders together: problems of collectives of their own, out
/// of place or in place as suits. Message sizes are whole blocks: nothing is rounded.
struct GroupedSteps {
  std::optional<Problem> before{};  ///< inside the group, among as many ranks as it has
  Problem bridge{};                 ///< among as many ranks as there are groups
  std::optional<Problem> after{};   ///< inside the group

  friend auto operator<=>(const GroupedSteps&, const GroupedSteps&) = default;
};

/// With what a group does its own steps: nothing where it has no such step.
struct GroupVariants {
  std::optional<Variant> before{};
  std::optional<Variant> after{};

  friend auto operator<=>(const GroupVariants&, const GroupVariants&) = default;
};

/// Who is in which group, and with what the steps are done.
struct Grouping {
  std::vector<int> group_of_rank;     ///< by rank; numbered from 0 on, none left out
  std::vector<GroupVariants> inside;  ///< by group
  Variant bridge;

  friend auto operator<=>(const Grouping&, const Grouping&) = default;
};

/// The ranks of each group. Throws Error(invalid_argument) where the groups are not numbered from 0
/// on, each with a rank.
[[nodiscard]] std::vector<int> group_sizes(std::span<const int> group_of_rank);

/// Empty where `problem` can be done by groups of these sizes, else the reason for a person, which
/// reads on after "unavailable: ".
[[nodiscard]] std::string why_not_grouped(const Problem& problem, std::span<const int> sizes);

/// The steps of `group`, among groups of these sizes, for a problem that can be done by them. Where
/// groups differ in size, blocks of the bridge are as long as the largest one's.
[[nodiscard]] GroupedSteps grouped_steps(const Problem& problem, std::span<const int> sizes,
                                         int group);

/// As much of a topology as the implementations look at to answer for a step: nodes and ranks.
struct GroupTopologies {
  std::vector<Topology> inside;  ///< by group
  Topology bridge;  ///< of the leaders; of several, by who is the root, one with the most nodes
};
/// `nodes`: that of each rank (Communicator::nodes). Throws as group_sizes, and where ranks and
/// nodes are not as many.
[[nodiscard]] GroupTopologies grouped_topologies(std::span<const int> nodes,
                                                 std::span<const int> group_of_rank,
                                                 Collective collective);

/// The ranks that are to do a collective by groups.
struct GroupedRanks {
  std::vector<int> nodes;                ///< of each rank
  std::vector<Capability> capabilities;  ///< of each rank
};
/// Whether they can: every rank its group's steps; the bridge those who may lead, which are all
/// ranks where the collective has a root, whoever that is. Throws Error(invalid_argument) on a
/// grouping that is not one for this problem (prepare_grouped), or on unlike numbers of ranks.
[[nodiscard]] Support supports_grouped(const Problem& problem, const Grouping& grouping,
                                       const GroupedRanks& ranks, const Implementations& catalogue);

/// What the steps promise together. Sums that one step hands on to the next are rounded in between,
/// those of averages before they are divided; never in rank order where numbers are reduced. Throws
/// as supports_grouped.
[[nodiscard]] Numerics grouped_numerics(const Problem& problem, const Grouping& grouping,
                                        const Implementations& catalogue);

/// The sum of the steps, of which those inside cost what the slowest group's do. Without what a
/// leader does within its own memory: copies that put blocks into order, the division of an
/// average. Throws as supports_grouped.
[[nodiscard]] Cost grouped_cost(const Problem& problem, const Grouping& grouping,
                                const GroupTopologies& topologies,
                                const Implementations& catalogue);

/// Prepares `call` by groups: one operation of all steps. The buffers of all ranks, and what is to
/// do the steps, are on devices or none is.
/// Collective; all ranks throw or none, except for RankMissing, and what the arguments that all
/// ranks give alike are wrong in (numbers of groups, unknown names, steps without a variant or
/// variants without a step, limits) is Error(invalid_argument) before any of them waits for
/// another. The operation keeps communicators and intermediate memory of its own; the catalogue,
/// `communicator` and the buffers outlive it. A leader keeps, beside what the variants need, up to
/// two messages of the bridge and one of its group's. After a failed wait it refuses to start.
[[nodiscard]] std::unique_ptr<Operation> prepare_grouped(Communicator& communicator,
                                                         const Call& call, const Grouping& grouping,
                                                         const Implementations& catalogue,
                                                         Deadline deadline);

}  // namespace colltune
