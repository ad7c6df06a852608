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

// Reductions over a process mesh: several all_reduces of one tensor that follow each other, each
// over the ranks that a dimension of the mesh puts together. What sharded-tensor frameworks ask
// for; whether fewer, larger collectives give the same result follows from who reduces with whom.

namespace colltune {

/// One of the all_reduces: which ranks go together, and with which operator.
struct MeshStep {
  ReduceOp op = ReduceOp::sum;
  /// Ranks whose other coordinates are alike go together; empty where `groups` says it.
  std::optional<int> dimension;
  /// The group of each rank, numbered in the order of their first ranks; empty where a dimension
  /// says it.
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

/// The all_reduces, in their order: every rank's input goes into the first, each one's result into
/// the next.
struct MeshReduction {
  std::vector<int> shape;  ///< ranks along each dimension; the last one's are neighbours
  std::vector<MeshStep> steps;

  friend auto operator<=>(const MeshReduction&, const MeshReduction&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, MeshReduction>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("shape", self.shape);
  visit("steps", self.steps);
}

/// As many as the wire takes members.
inline constexpr int most_mesh_ranks = 1 << 20;
inline constexpr std::size_t most_mesh_dimensions = 64;

/// Throws Error(invalid_argument): extents below 1, more than most_mesh_ranks ranks
/// or most_mesh_dimensions dimensions, no step, an
/// operator `none`, a dimension that the shape lacks, groups for another number of ranks or
/// numbered otherwise, a step with both or neither. The work is linear in the size of `mesh`.
void check(const MeshReduction& mesh);

/// The product of the shape's extents.
[[nodiscard]] int ranks_of(const MeshReduction& mesh);
/// The group of each rank in `step`, numbered in the order of their first ranks.
[[nodiscard]] std::vector<int> groups_of(const MeshReduction& mesh, const MeshStep& step);
/// The same for the ranks that all steps together connect: none enters the result of another part.
[[nodiscard]] std::vector<int> components_of(const MeshReduction& mesh);
/// The ranks of each group, ascending.
[[nodiscard]] std::vector<std::vector<int>> ranks_by_group(const std::vector<int>& group_of_rank);

/// How often each rank's input enters the result of rank `row` where every step is a sum: that row
/// of the product of the steps' membership matrices (1 where two ranks share a group). Numbers that
/// 64 bits do not hold stay at the largest.
[[nodiscard]] std::vector<std::uint64_t> membership_row(const MeshReduction& mesh, int row);

/// One all_reduce in the place of all steps.
struct Merge {
  std::vector<int> component_of_rank;  ///< who reduces together (components_of)
  ReduceOp op = ReduceOp::sum;
  /// By component, what the sums are divided by behind the all_reduce; empty where nothing is.
  std::vector<int> divisors;
  /// Why no single all_reduce gives the result of the steps; empty where one does. Names an entry
  /// of the membership matrix that is wrong.
  std::string why_not;
};
/// Whether one all_reduce over each component gives what the steps give, in exact arithmetic.
///
/// With M the product of the steps' membership matrices on a component C: sum and prod need M = 1
/// everywhere, max and min M > 0. Sums and averages, mixed or alone, need the product W, in which
/// an average's rows are divided by the size of the group, to be 1/d everywhere for a whole number
/// d, which divides the merged sum (averages alone: d = |C|). Other mixtures and averages of
/// integers, which truncate at each step, never merge. Steps whose groups are single ranks change
/// nothing, and count for nothing. The work is merging_work(mesh).
[[nodiscard]] Merge merge_steps(const MeshReduction& mesh, DataType type);

/// How many numbers merge_steps looks at, at most: ranks times steps, and where a step has groups
/// the square of the ranks in the place of the ranks. Numbers that 64 bits do not hold stay at the
/// largest.
[[nodiscard]] std::uint64_t merging_work(const MeshReduction& mesh);

/// "2x3".
[[nodiscard]] std::string shape_text(const MeshReduction& mesh);
/// "0:sum,1:sum", or with groups in the place of a dimension "{0-2|3-5}:sum".
[[nodiscard]] std::string steps_text(const MeshReduction& mesh);
/// Reads both. Ranks that stand in no group are groups by themselves; groups that are those of a
/// dimension are read as that dimension. Throws Error(invalid_argument) that says what is allowed.
[[nodiscard]] MeshReduction parse_mesh(std::string_view shape, std::string_view steps);

}  // namespace colltune
