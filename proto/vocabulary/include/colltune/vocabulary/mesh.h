// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "colltune/vocabulary/collective.h"

// Reductions over a process mesh: several all_reduces of one tensor, one after another, each over
// the ranks that a dimension of the mesh groups. Frameworks for sharded tensors ask for them.
// Whether fewer, larger collectives give the same result depends on which ranks reduce together.

namespace colltune {

/// One of the all_reduces: how the ranks are grouped, and the operator.
struct MeshStep {
  ReduceOp op = ReduceOp::sum;
  /// Ranks whose other coordinates are equal form a group; empty if `groups` is set.
  std::optional<int> dimension;
  /// The group of each rank; groups are numbered in the order of their first ranks. Empty if
  /// `dimension` is set.
  std::vector<int> groups;

  friend auto operator<=>(const MeshStep&, const MeshStep&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, MeshStep>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("op", self.op);
  visit("dimension", self.dimension);
  visit("groups", self.groups);
}

/// The all_reduces in order: each rank's input goes into the first, and each result into the next.
struct MeshReduction {
  std::vector<int> shape;  ///< ranks along each dimension; ranks along the last one are neighbours
  std::vector<MeshStep> steps;

  friend auto operator<=>(const MeshReduction&, const MeshReduction&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, MeshReduction>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("shape", self.shape);
  visit("steps", self.steps);
}

/// As many as the wire format accepts members.
inline constexpr int most_mesh_ranks = 1 << 20;
inline constexpr std::size_t most_mesh_dimensions = 64;

/// Throws Error(invalid_argument) for: extents below 1, more than most_mesh_ranks ranks or
/// most_mesh_dimensions dimensions, no step, an operator `none`, a dimension that the shape lacks,
/// groups for another number of ranks or numbered differently, a step with both or neither of
/// dimension and groups. The work is linear in the size of `mesh`.
void check(const MeshReduction& mesh);

/// The product of the shape's extents.
[[nodiscard]] int ranks_of(const MeshReduction& mesh);
/// The group of each rank in `step`; groups are numbered in the order of their first ranks.
[[nodiscard]] std::vector<int> groups_of(const MeshReduction& mesh, const MeshStep& step);
/// The same for the sets of ranks that all steps together connect: no rank's input reaches the
/// result of another set.
[[nodiscard]] std::vector<int> components_of(const MeshReduction& mesh);
/// The ranks of each group, ascending.
[[nodiscard]] std::vector<std::vector<int>> ranks_by_group(const std::vector<int>& group_of_rank);

/// How often each rank's input enters the result of rank `row` if every step is a sum. This is a
/// row of the product of the steps' membership matrices, which are 1 where two ranks share a group.
/// Values saturate at 64 bits.
[[nodiscard]] std::vector<std::uint64_t> membership_row(const MeshReduction& mesh, int row);

/// One all_reduce that replaces all steps.
struct Merge {
  std::vector<int> component_of_rank;  ///< which ranks reduce together (components_of)
  ReduceOp op = ReduceOp::sum;
  /// For each component, the number by which the sums are divided after the all_reduce; empty if no
  /// division is needed.
  std::vector<int> divisors;
  /// Why no single all_reduce gives the result of the steps; empty if one does. Names a wrong entry
  /// of the membership matrix.
  std::string why_not;
};
/// Whether one all_reduce over each component gives the result of the steps, in exact arithmetic.
///
/// Let M be the product of the steps' membership matrices on a component C. sum and prod need M = 1
/// everywhere; max and min need M > 0. Sums and averages, mixed or alone, use the product W, in
/// which an average's rows are divided by the size of the group. They need W = 1/d everywhere for
/// an integer d, by which the merged sum is divided (averages alone: d = |C|). Other mixtures never
/// merge, nor do averages of integers, which truncate at each step. Steps whose groups are single
/// ranks change nothing and are ignored. The work is merging_work(mesh).
[[nodiscard]] Merge merge_steps(const MeshReduction& mesh, DataType type);

/// Upper bound on the numbers that merge_steps examines: ranks times steps, where a step with
/// groups counts the square of the ranks. Saturates at 64 bits.
[[nodiscard]] std::uint64_t merging_work(const MeshReduction& mesh);

/// For example "2x3".
[[nodiscard]] std::string shape_text(const MeshReduction& mesh);
/// For example "0:sum,1:sum"; with groups instead of a dimension "{0-2|3-5}:sum".
[[nodiscard]] std::string steps_text(const MeshReduction& mesh);
/// Reads both. Ranks that are in no group form groups of their own. Groups equal to those of a
/// dimension are read as that dimension. Throws Error(invalid_argument) that says what is allowed.
[[nodiscard]] MeshReduction parse_mesh(std::string_view shape, std::string_view steps);

}  // namespace colltune
