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

// Reductions over a process mesh, in the forms that a composition says (CompositionMode): one
// all_reduce for each step; one over all ranks that the steps connect, where the algebra allows it
// (merge_steps); or, where it does, a reduce_scatter in the groups of one step, an all_reduce
// across them and an all_gather. All forms give what the steps give; sums and averages of floating
// types are rounded at other places. The steps follow each other as collectives of their own on
// communicators of the ranks that they put together.

namespace colltune {

/// One collective of a form: the ranks of each group call it among themselves.
struct MeshCall {
  std::vector<int> group_of_rank;
  Problem problem;
  const Part* part = nullptr;  ///< of the composition: with what it is done
  /// Whether it works on the share of the buffers that is the rank's by its place in its group of
  /// `sharing`, not on all of them.
  bool on_share = false;
};

/// The collectives of a form, in their order.
struct MeshForm {
  std::vector<MeshCall> calls;
  /// Hierarchical: into how many shares the message is parted, and the groups whose ranks have one
  /// each.
  int shares = 1;
  std::vector<int> sharing;
  /// Bytes that the buffers of the calls have: the message, rounded up to whole shares.
  Bytes padded;
  std::vector<int> component_of_rank;
  /// By component, behind the last call; empty where nothing is divided.
  std::vector<int> divisors;
};

/// Empty where `composition` has the parts of a form of `problem`, a mesh_reduce, and gives its
/// result, else the reason for a person, which reads on after "unavailable: ". Of the modes for
/// unlike ranks: whether the steps merge into one all_reduce over all ranks of the mesh.
[[nodiscard]] std::string why_not_mesh(const Problem& problem, const Composition& composition);

/// The form that `composition` is of `problem`; the parts stay where they are in it. Not for the
/// modes for unlike ranks. Throws Error(invalid_argument) with why_not_mesh.
[[nodiscard]] MeshForm mesh_form(const Problem& problem, const Composition& composition);

/// The all_reduce over all ranks that `problem`, a mesh_reduce, merges into; nothing where it does
/// not, or falls into parts. What its sums are then divided by goes into `divisor`, 1 where nothing
/// is.
[[nodiscard]] std::optional<Problem> merged_problem(const Problem& problem, int& divisor);

/// The groups of one call that differ in what an implementation is asked about: how many ranks on
/// how many nodes.
struct MeshGroup {
  Topology topology;       ///< nodes and ranks
  std::vector<int> ranks;  ///< those of the first such group, as ranks of the mesh
};
/// Those with more than one rank. `nodes`: that of each rank.
[[nodiscard]] std::vector<MeshGroup> mesh_groups(const MeshCall& call, std::span<const int> nodes);

/// What the collectives promise together. Other than in sequence, sums and averages of floating
/// types count as rounded at each step, since they are rounded at other places than the steps'.
[[nodiscard]] Numerics mesh_numerics(const Problem& problem, const Composition& composition,
                                     const Implementations& catalogue);
/// The sum of the collectives, each as its slowest group.
[[nodiscard]] Cost mesh_cost(const Problem& problem, const Composition& composition,
                             std::span<const int> nodes, const Implementations& catalogue);

/// Prepares `call`, whose problem is a mesh_reduce over all ranks of `ranks`, in the form that
/// `composition` says; `members` are those ranks, for the modes for unlike ones. Collective; throws
/// as prepare_composed. Communicators come from `ranks`, and their making is in the operation's
/// communicators_time().
[[nodiscard]] std::unique_ptr<Operation> prepare_mesh_reduce(Subgroups& ranks, const Call& call,
                                                             const Composition& composition,
                                                             const Members& members,
                                                             const Implementations& catalogue,
                                                             Deadline deadline);

}  // namespace colltune
