// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/communication/subgroups.h"
#include "colltune/kernels/composition/grouped.h"
#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/members.h"

// Reductions over a process mesh, in the forms that a composition can name (CompositionMode): one
// all_reduce for each step; one all_reduce over all ranks that the steps connect, if the algebra
// allows it (merge_steps); or, if it does, a reduce_scatter in the groups of one step, an
// all_reduce across them and an all_gather. All forms give the result of the steps, but round sums
// and averages of floating types at other places. The collectives run one after the other, each on
// communicators of the ranks that it connects.

namespace colltune {

/// One collective of a form; the ranks of each group call it among themselves.
struct MeshCall {
  std::vector<int> group_of_rank;
  Problem problem;
  const Part* part = nullptr;  ///< of the composition: the variant to use
  /// Whether it works only on this rank's share of the buffers, given by its position in its group
  /// of `sharing`, and not on the whole message.
  bool on_share = false;
};

/// The collectives of a form, in order.
struct MeshForm {
  std::vector<MeshCall> calls;
  /// Hierarchical: the number of shares of the message, and the groups whose ranks hold one share
  /// each.
  int shares = 1;
  std::vector<int> sharing;
  /// Bytes of the calls' buffers: the message, rounded up to whole shares.
  Bytes padded;
  std::vector<int> component_of_rank;
  /// By component, applied after the last call; empty if nothing is divided.
  std::vector<int> divisors;
  /// Whether one reduction stands for all steps, which the algebra allows for some types alone.
  bool is_merged = false;
};

/// Empty if `composition` has the parts of a form of `problem`, a mesh_reduce, and gives its
/// result, else the reason for a person, which continues "unavailable: ". For the modes for unlike
/// ranks: whether the steps merge into one all_reduce over all ranks of the mesh.
[[nodiscard]] std::string why_not_mesh(const Problem& problem, const Composition& composition);

/// The form of `problem` that `composition` describes. It points to the parts in `composition`. Not
/// for the modes for unlike ranks. Throws Error(invalid_argument) with the text of why_not_mesh.
[[nodiscard]] MeshForm mesh_form(const Problem& problem, const Composition& composition);

/// The all_reduce over all ranks into which `problem`, a mesh_reduce, merges; nothing if it does
/// not merge, or merges only into several parts. `divisor` receives what the sums must then be
/// divided by; 1 if nothing is divided.
[[nodiscard]] std::optional<Problem> merged_problem(const Problem& problem, int& divisor);

/// The groups of one call that differ in what implementations are asked about: the number of ranks
/// and the number of nodes.
struct MeshGroup {
  Topology topology;       ///< nodes and ranks
  std::vector<int> ranks;  ///< of the first such group, as ranks of the mesh
};
/// The groups with more than one rank. `nodes`: the node of each rank.
[[nodiscard]] std::vector<MeshGroup> mesh_groups(const MeshCall& call, std::span<const int> nodes);

/// What the collectives guarantee together. Unless they run in sequence, sums and averages of
/// floating types count as rounded at each step, since the roundings are at other places than in
/// the steps.
[[nodiscard]] Numerics mesh_numerics(const Problem& problem, const Composition& composition,
                                     const Implementations& catalogue);
/// The sum of the collectives; each costs what its slowest group costs.
[[nodiscard]] Cost mesh_cost(const Problem& problem, const Composition& composition,
                             std::span<const int> nodes, const Implementations& catalogue);

/// Why an operation of the form keeps the size that it is prepared for; empty if all parts take
/// others by Operation::rebind. `nodes`: the node of each rank. Throws as mesh_form.
[[nodiscard]] std::string why_not_mesh_rebound(const Problem& problem,
                                               const Composition& composition,
                                               std::span<const int> nodes,
                                               const Implementations& catalogue);

/// Prepares `call`, whose problem is a mesh_reduce over all ranks of `ranks`, in the form that
/// `composition` names. `members` are those ranks, for the modes for unlike ranks. Collective;
/// throws as prepare_composed does. Communicators come from `ranks`; the time to make them is in
/// the operation's communicators_time().
/// With a capacity it takes other sizes, types and places by Operation::rebind, for the same mesh
/// and steps, if all parts do.
[[nodiscard]] std::unique_ptr<Operation> prepare_mesh_reduce(Subgroups& ranks, const Call& call,
                                                             const Composition& composition,
                                                             const Members& members,
                                                             const Implementations& catalogue,
                                                             Deadline deadline);

}  // namespace colltune
