// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/collective.h"
#include "colltune/vocabulary/problem.h"

namespace colltune {

/// A call as MPI names it. The first eight are the vocabulary's collectives, in their order; the
/// others are what no variant serves. Stored by name.
enum class TracedOperation {
  all_reduce = 0,
  all_gather = 1,
  reduce_scatter = 2,  ///< MPI_Reduce_scatter too, where all counts are equal
  broadcast = 3,
  reduce = 4,
  all_to_all = 5,
  gather = 6,
  scatter = 7,
  all_gather_v = 8,
  reduce_scatter_v = 9,  ///< MPI_Reduce_scatter with unequal counts
  all_to_all_v = 10,
  all_to_all_w = 11,
  gather_v = 12,
  scatter_v = 13,
  barrier = 14,
  scan = 15,
  exscan = 16,
  neighbor_all_gather = 17,
  neighbor_all_gather_v = 18,
  neighbor_all_to_all = 19,
  neighbor_all_to_all_v = 20,
  neighbor_all_to_all_w = 21,
};
constexpr std::array<Named<TracedOperation>, 22> enum_names(TracedOperation) {
  using enum TracedOperation;
  return {{{all_reduce, "all_reduce"},
           {all_gather, "all_gather"},
           {reduce_scatter, "reduce_scatter"},
           {broadcast, "broadcast"},
           {reduce, "reduce"},
           {all_to_all, "all_to_all"},
           {gather, "gather"},
           {scatter, "scatter"},
           {all_gather_v, "all_gather_v"},
           {reduce_scatter_v, "reduce_scatter_v"},
           {all_to_all_v, "all_to_all_v"},
           {all_to_all_w, "all_to_all_w"},
           {gather_v, "gather_v"},
           {scatter_v, "scatter_v"},
           {barrier, "barrier"},
           {scan, "scan"},
           {exscan, "exscan"},
           {neighbor_all_gather, "neighbor_all_gather"},
           {neighbor_all_gather_v, "neighbor_all_gather_v"},
           {neighbor_all_to_all, "neighbor_all_to_all"},
           {neighbor_all_to_all_v, "neighbor_all_to_all_v"},
           {neighbor_all_to_all_w, "neighbor_all_to_all_w"}}};
}
constexpr std::string_view enum_title(TracedOperation) { return "traced operation"; }

/// The vocabulary's collective; nothing for the others.
[[nodiscard]] std::optional<Collective> collective_of(TracedOperation operation);
/// Whether the ranks' blocks may differ in size.
[[nodiscard]] constexpr bool is_irregular(TracedOperation operation) {
  using enum TracedOperation;
  return (operation >= all_gather_v && operation <= scatter_v) ||
         operation == neighbor_all_gather_v || operation == neighbor_all_to_all_v ||
         operation == neighbor_all_to_all_w;
}

/// How the counts of an irregular call compare, as far as the rank saw them. Stored by name.
enum class CountShape {
  equal = 0,  ///< all the same; what a regular call has
  /// As Counts::one_large. Traces from before there were problems of unequal counts have it from 3
  /// ranks on, and where one is more than half of the sum.
  one_large = 1,
  mixed = 2,   ///< as Counts::random
  unseen = 3,  ///< only the root knows them
};
constexpr std::array<Named<CountShape>, 4> enum_names(CountShape) {
  using enum CountShape;
  return {{{equal, "equal"}, {one_large, "one_large"}, {mixed, "mixed"}, {unseen, "unseen"}}};
}
constexpr std::string_view enum_title(CountShape) { return "count shape"; }
/// The vocabulary's class; nothing if the rank did not see them.
[[nodiscard]] std::optional<Counts> counts_of(CountShape shape);

/// What a call does with a persistent request (MPIX_Allreduce_init). Stored by name.
enum class PersistentStep {
  making = 0,
  start = 1,  ///< MPI_Start, or one request of MPI_Startall
};
constexpr std::array<Named<PersistentStep>, 2> enum_names(PersistentStep) {
  using enum PersistentStep;
  return {{{making, "making"}, {start, "start"}}};
}
constexpr std::string_view enum_title(PersistentStep) { return "step of a persistent request"; }

/// Communicators whose members lie alike.
struct TracedWorld {
  int ranks = 0;
  int nodes = 0;           ///< 0: not known, as of processes that were spawned
  int ranks_per_node = 0;  ///< 0: not the same on all nodes, or not known
  /// Communicators of which at least one collective was recorded.
  std::uint64_t communicators = 0;

  friend auto operator<=>(const TracedWorld&, const TracedWorld&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, TracedWorld>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("ranks", self.ranks);
  visit("nodes", self.nodes);
  visit("ranks_per_node", self.ranks_per_node);
  visit("communicators", self.communicators);
}

/// What tells calls apart, but for the communicator.
struct TracedCall {
  TracedOperation operation = TracedOperation::all_reduce;
  bool is_nonblocking = false;
  std::optional<PersistentStep> persistent{};  ///< such a call is nonblocking, too
  std::optional<DataType> data_type{};         ///< of a reduction; empty: not in the vocabulary
  std::optional<ReduceOp> reduce_op{};         ///< likewise
  /// As Problem::message_size; of an irregular call the bytes of this rank's larger buffer.
  Bytes message_size;
  /// `message_size` was rounded down to a power of two: of irregular calls, and of all others once
  /// there are too many sizes.
  bool is_rounded = false;
  CountShape counts = CountShape::equal;

  friend auto operator<=>(const TracedCall&, const TracedCall&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, TracedCall>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("operation", self.operation);
  visit("is_nonblocking", self.is_nonblocking);
  visit("persistent", self.persistent);
  visit("data_type", self.data_type);
  visit("reduce_op", self.reduce_op);
  visit("message_size_bytes", self.message_size);
  visit("is_rounded", self.is_rounded);
  visit("counts", self.counts);
}

/// Calls as ranks made them: a collective call of n ranks counts n times.
struct RankCalls {
  std::uint64_t calls = 0;
  std::chrono::nanoseconds time{};  ///< inside the calls; of nonblocking ones until they return

  void add(const RankCalls& more) {
    calls += more.calls;
    time += more.time;
  }
  friend bool operator==(const RankCalls&, const RankCalls&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, RankCalls>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("calls", self.calls);
  visit("time_ns", self.time);
}

/// All calls of one kind in worlds that are alike.
struct TracedCalls {
  std::uint32_t world = 0;  ///< index into Trace::worlds
  TracedCall call;
  RankCalls by_ranks;

  friend bool operator==(const TracedCalls&, const TracedCalls&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, TracedCalls>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("world", self.world);
  visit("call", self.call);
  visit("by_ranks", self.by_ranks);
}

/// Which collectives a program called: of one launch, over all its ranks.
struct Trace {
  static constexpr int current_version = 1;

  int version = current_version;
  std::string program;
  std::string mpi_library;
  int ranks = 0;                         ///< of the launch
  int nodes = 0;                         ///< likewise
  std::chrono::nanoseconds rank_time{};  ///< from MPI_Init to MPI_Finalize, summed over the ranks
  RankCalls not_kept{};                  ///< calls of kinds beyond the limit
  std::vector<TracedWorld> worlds;
  std::vector<TracedCalls> calls;

  friend bool operator==(const Trace&, const Trace&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Trace>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("version", self.version);
  visit("program", self.program);
  visit("mpi_library", self.mpi_library);
  visit("ranks", self.ranks);
  visit("nodes", self.nodes);
  visit("rank_time_ns", self.rank_time);
  visit("not_kept", self.not_kept);
  visit("worlds", self.worlds);
  visit("calls", self.calls);
}

/// Sums calls up by kind in bounded memory, whatever a program does.
class CallCounts {
 public:
  /// Kinds that are kept with their exact sizes; later ones have theirs rounded.
  static constexpr std::size_t most_exact = 2500;
  /// Kinds in all; later ones count as not kept.
  static constexpr std::size_t most = 3500;

  void add(std::uint32_t world, const TracedCall& call, const RankCalls& calls);
  void add_not_kept(const RankCalls& calls) { not_kept_.add(calls); }

  [[nodiscard]] const RankCalls& not_kept() const { return not_kept_; }
  /// By world and call.
  [[nodiscard]] std::vector<TracedCalls> list() const;

 private:
  std::map<std::pair<std::uint32_t, TracedCall>, RankCalls> calls_;
  RankCalls not_kept_;
};

/// Why calls are not measured, or no variant serves them. Printed by name.
enum class Unserved {
  nonblocking,  ///< no kernel runs its steps one by one: client/open_mpi/README.md
  persistent,
  irregular,
  other_operation,    ///< none of the eight collectives
  one_rank,           ///< the communicator's only one
  uneven_placement,   ///< or unknown
  not_in_vocabulary,  ///< the type or the operator of a reduction
  no_element,         ///< less than one element for each rank
  too_large,          ///< larger than any size of a configuration
  beyond_limit,       ///< lighter than the most that a sweep takes of a trace
  not_kept,           ///< the trace counts them without saying what they were
};
constexpr std::array<Named<Unserved>, 11> enum_names(Unserved) {
  using enum Unserved;
  return {{{nonblocking, "nonblocking"},
           {persistent, "persistent"},
           {irregular, "irregular"},
           {other_operation, "other operations"},
           {one_rank, "one rank only"},
           {uneven_placement, "uneven or unknown placement"},
           {not_in_vocabulary, "types or operators not in the vocabulary"},
           {no_element, "less than one element for each rank"},
           {too_large, "too large messages"},
           {beyond_limit, "beyond the limit"},
           {not_kept, "not kept in the trace"}}};
}
constexpr std::string_view enum_title(Unserved) { return "reason"; }

/// A call as a problem that a sweep measures and a table answers, in its usual form; or why it is
/// none.
struct TracedProblem {
  Problem problem;
  std::optional<Unserved> why_not{};
};
/// What moves data is asked for in f32 where its bytes are whole elements for each rank, else in
/// u8: the trace has no type of it. A reduction's size is rounded down to whole elements.
/// MPI_Allgatherv and MPI_Reduce_scatter, whose counts all ranks know, are problems of their
/// counts; their sizes are those that the trace has, rounded down to powers of two.
[[nodiscard]] TracedProblem problem_of(const TracedCall& call, const TracedWorld& world);

/// The call with its size rounded down to a power of two; 0 stays.
[[nodiscard]] TracedCall rounded(TracedCall call) noexcept;

/// What two parts of a launch recorded, together: of its ranks, or of its communicators. Program,
/// library, ranks and nodes are those of `first`.
[[nodiscard]] Trace merged(const Trace& first, const Trace& second);

/// As bytes between ranks; as text in a file, one line for each world and kind of calls.
[[nodiscard]] std::string pack(const Trace& trace);
[[nodiscard]] Trace unpack_trace(std::string_view bytes);
[[nodiscard]] std::string to_text(const Trace& trace);

/// Reads a trace's text. Throws Error(invalid_argument) that names `where`, the place in it, what
/// was found and what is allowed.
[[nodiscard]] Trace parse_trace(std::string_view text, const std::string& where);
/// The same from a file. Throws Error(failed_precondition) if it cannot be read.
[[nodiscard]] Trace load_trace(const std::string& path);

}  // namespace colltune
