// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/collective.h"
#include "colltune/vocabulary/mesh.h"

namespace colltune {

/// What a Problem describes. Stored and sent by name.
enum class ProblemKind {
  collective = 0,
  mesh_reduce = 1,  ///< all_reduces over a process mesh, one after another
};
constexpr std::array<Named<ProblemKind>, 2> enum_names(ProblemKind) {
  return {{{ProblemKind::collective, "collective"}, {ProblemKind::mesh_reduce, "mesh_reduce"}}};
}
constexpr std::string_view enum_title(ProblemKind) { return "problem kind"; }

/// What a caller demands of the bits of a result. Each class allows what the next one allows, and
/// more.
enum class NumericClass {
  any = 0,         ///< any order of accumulation
  same_bits = 1,   ///< all ranks end with the same bits
  rank_order = 2,  ///< accumulated in rank order: the same bits in every run and for every variant
};
constexpr std::array<Named<NumericClass>, 3> enum_names(NumericClass) {
  return {{{NumericClass::any, "any"},
           {NumericClass::same_bits, "same_bits"},
           {NumericClass::rank_order, "rank_order"}}};
}
constexpr std::string_view enum_title(NumericClass) { return "numeric class"; }

/// How the lengths of the ranks' blocks are distributed. Stored and sent by name.
enum class Counts {
  equal = 0,      ///< all blocks are alike
  one_large = 1,  ///< one block is at least half of the message, and twice the mean of the others
  random = 2,     ///< all else
};
constexpr std::array<Named<Counts>, 3> enum_names(Counts) {
  return {{{Counts::equal, "equal"}, {Counts::one_large, "one_large"}, {Counts::random, "random"}}};
}
constexpr std::string_view enum_title(Counts) { return "counts"; }
/// Fields of this value are left out of canonical texts, of JSON and of messages, which are then as
/// they were before counts existed.
constexpr bool is_empty_field(Counts counts) { return counts == Counts::equal; }

/// One collective call to be served.
///
/// `message_size` is the bytes of the larger of one rank's send and receive buffers (of the root's,
/// if there is a root): ranks x count elements for all_gather, reduce_scatter, all_to_all, gather
/// and scatter, count elements for the others. NCCL's `nBytes` and nccl-tests' "size" mean the
/// same. The root is an argument of the call and not part of the problem.
///
/// If `counts` are not equal (MPI_Allgatherv, MPI_Reduce_scatter), `message_size` is the bytes of all
/// blocks together, and a block may be empty. The lengths are arguments of the call, the same on all
/// ranks.
///
/// A mesh_reduce has the buffers of an all_reduce, so `collective` is all_reduce; its operators are
/// in `mesh` alone.
struct Problem {
  /// Keeps the digests of collectives as they were before mesh reductions existed.
  using omits_empty_fields = void;

  ProblemKind kind = ProblemKind::collective;
  Collective collective = Collective::all_reduce;
  DataType data_type = DataType::f32;
  /// `none` exactly if the collective does not reduce, and for a mesh_reduce.
  ReduceOp reduce_op = ReduceOp::sum;
  Bytes message_size;
  bool in_place = false;
  bool registered = false;     ///< the buffers lie in symmetric memory
  bool graph_capture = false;  ///< the caller captures the call into a device graph
  NumericClass numeric_class = NumericClass::any;
  std::optional<MeshReduction> mesh{};  ///< set exactly if `kind` is mesh_reduce
  Counts counts = Counts::equal;        ///< another one only if may_have_unequal_counts()

  friend auto operator<=>(const Problem&, const Problem&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Problem>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("kind", self.kind);
  visit("collective", self.collective);
  visit("data_type", self.data_type);
  visit("reduce_op", self.reduce_op);
  visit("message_size_bytes", self.message_size);
  visit("in_place", self.in_place);
  visit("registered", self.registered);
  visit("graph_capture", self.graph_capture);
  visit("numeric_class", self.numeric_class);
  visit("mesh", self.mesh);
  visit("counts", self.counts);
}

/// The name of the requested operation: the collective, or "mesh_reduce".
[[nodiscard]] std::string_view operation_name(const Problem& problem);
/// The same with the mesh and its steps, for example "mesh_reduce 2x3 0:sum,1:sum".
[[nodiscard]] std::string operation_text(const Problem& problem);

/// Whether numbers are combined, and whether any of the combining is averaging.
[[nodiscard]] bool reduces(const Problem& problem);
[[nodiscard]] bool averages(const Problem& problem);

/// Whether MPI guarantees that all ranks of such a call know the lengths of all blocks, so that all
/// can decide alike: all_gather and reduce_scatter.
[[nodiscard]] bool may_have_unequal_counts(const Problem& problem);

/// Throws Error(invalid_argument) if the operator or the counts do not fit the collective, or the
/// mesh does not fit the kind.
void check(const Problem& problem);

/// Elements of one block ("count" of nccl-tests and MPI): the whole message, or one rank's share of
/// it, rounded down; the mean where counts are unequal.
[[nodiscard]] std::size_t block_elements(const Problem& problem, int ranks);
/// Bytes of one rank's send buffer; 0 on ranks that do not send. Where counts are unequal, this and
/// receive_size() must be asked with the blocks: Error(internal).
[[nodiscard]] Bytes send_size(const Problem& problem, int ranks, bool is_root = true);
/// Bytes of one rank's receive buffer; 0 on ranks that do not receive.
[[nodiscard]] Bytes receive_size(const Problem& problem, int ranks, bool is_root = true);
/// The same of a call with these blocks: bytes of each rank's block if counts are unequal, else
/// empty.
[[nodiscard]] Bytes send_size(const Problem& problem, int ranks, std::span<const std::size_t> blocks,
                              int rank, int root);
[[nodiscard]] Bytes receive_size(const Problem& problem, int ranks,
                                 std::span<const std::size_t> blocks, int rank, int root);
/// `requested` rounded down to whole blocks of elements on every rank, as nccl-tests does; to whole
/// elements if counts are unequal. 0 if it holds none, or too few for blocks of these counts.
[[nodiscard]] Bytes round_message_size(Collective collective, DataType type, Bytes requested,
                                       int ranks, Counts counts = Counts::equal);
/// What message sizes are multiples of, in bytes.
[[nodiscard]] std::uint64_t message_size_unit(Collective collective, DataType type, int ranks,
                                              Counts counts);

/// The class of a call's counts, from the bytes of each rank's block.
[[nodiscard]] Counts counts_class(std::span<const std::size_t> blocks);
/// The bytes of each rank's block that a sweep measures, `problem.message_size` together: for
/// one_large three quarters in the last rank's, the rest shared equally among the others; for random
/// shares of 1 to 7 by a fixed hash of the rank. Empty if counts are equal, and if the message has
/// too few elements for blocks of such counts.
[[nodiscard]] std::vector<std::size_t> typical_blocks(const Problem& problem, int ranks);

/// For logs and errors: "all_reduce f32 sum 1MiB", followed by everything that differs from the
/// defaults.
[[nodiscard]] std::string describe(const Problem& problem);

}  // namespace colltune
