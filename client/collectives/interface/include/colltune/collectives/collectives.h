// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#error \
    "colltune/collectives/collectives.h needs C++20: compile with -std=c++20, or use the C interface, colltune/collectives.h"
#endif

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "colltune/collectives/program_numerics.h"
#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/collective.h"
#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/mesh.h"

namespace colltune {

/// What a program sets for its collectives. What is empty is taken from the environment; all but
/// the table and its digest must be the same on all ranks.
struct CollectivesOptions {
  /// The table file, as `colltune export table` writes it; rank 0 alone reads it. COLLTUNE_TABLE;
  /// if that is empty too, there is none.
  std::optional<std::string> table{};
  /// The digest that the table must have, or its beginning. COLLTUNE_TABLE_DIGEST; else any.
  std::optional<std::string> table_digest{};
  /// How much shared memory each rank may have for a communicator. COLLTUNE_MEMORY; else 256 MiB.
  std::optional<Bytes> memory{};
  /// Which bits are accepted. COLLTUNE_NUMERICS; else same_bits.
  std::optional<ProgramNumerics> numerics{};
};

/// One collective call on one rank. `count` elements are one block: the whole message of
/// all_reduce, broadcast and reduce; what goes from or to each rank in the others, as in MPI.
///
/// All ranks give the same values, except for the buffers. A buffer that the rank does not use may
/// be null. In place, the smaller buffer is a part of the larger one: the same address for
/// all_reduce, reduce and all_to_all; block `rank` for all_gather, reduce_scatter, gather and
/// scatter. All ranks call in place or none; in reduce, gather and scatter only the root can. A
/// broadcast has one buffer, `receive`. Buffers that overlap otherwise are an error.
///
/// The blocks of an all_gather and a reduce_scatter may have unequal lengths, as in MPI_Allgatherv
/// and MPI_Reduce_scatter: `counts` gives the elements of each rank's block, which may be 0, in the
/// order of the ranks, instead of `count`. In a buffer of all blocks they lie one behind the other.
struct CollectiveCall {
  Collective collective = Collective::all_reduce;
  DataType data_type = DataType::u8;
  ReduceOp reduce_op = ReduceOp::none;  ///< `none` unless it reduces
  int root = 0;                         ///< of broadcast, reduce, gather and scatter
  std::size_t count = 0;
  const void* send = nullptr;
  void* receive = nullptr;
  /// Only read while the call is made or prepared. `count` is 0 then.
  std::optional<std::span<const std::size_t>> counts{};
};

/// A mesh reduction on one rank: all_reduces of one tensor of `count` elements, one after another,
/// each over the groups of a step (parse_mesh("2x3", "0:sum,1:max")). All ranks give the same
/// values, except for the buffers, and are in place (one address) or none is.
struct MeshReductionCall {
  MeshReduction mesh{};  ///< of all ranks of the communicator, in their order
  DataType data_type = DataType::f32;
  std::size_t count = 0;
  const void* send = nullptr;
  void* receive = nullptr;
};

/// The ranks of one communicator, where they are threads of this process: all of them make a
/// Collectives over the same object. Thread-safe.
class [[gnu::visibility("default")]] RankThreads {
 public:
  /// Throws Error(invalid_argument) if there are no ranks, or an option or an environment variable
  /// has no such value.
  explicit RankThreads(int ranks, const CollectivesOptions& options = {});
  ~RankThreads();
  RankThreads(const RankThreads&) = delete;
  RankThreads& operator=(const RankThreads&) = delete;

  /// Ends all waits of all ranks, now and later, with Error(aborted): for a rank that cannot go on.
  /// A collective that fails on a rank does so by itself.
  void abandon() noexcept;

 private:
  friend class Collectives;
  class Impl;
  std::shared_ptr<Impl> impl_;
};

class PersistentCall;
class SymmetricBuffer;

/// The collectives of one communicator on one rank, run by the measured winners of a table file.
/// What runs is chosen by rank 0 when the object is made, and depends on nothing but what all ranks
/// give alike: the bytes of a call that moves data; type, operator and count of a reduction; the
/// list of counts. Where the table has no winner the MPI library's own collective runs; over
/// threads a plain one of ours.
///
/// Not thread-safe: the ranks make their calls in one order. Objects of different communicators may
/// be used at the same time. Calls wait for late ranks without end.
///
/// If a call fails, it throws Error: invalid_argument if what all ranks give alike is not valid, or
/// resource_exhausted on all ranks if one lacks memory; the object can then be used as before.
/// After any other error it cannot: its later calls throw failed_precondition, and ranks that wait
/// for this one throw aborted, at once if they are threads, after a second if they are processes of
/// one node that run one of our algorithms.
class [[gnu::visibility("default")]] Collectives {
 public:
  /// Collective: each of the threads gives another rank. Throws Error on all ranks if the table
  /// cannot be read (failed_precondition, data_loss) or has another digest (failed_precondition).
  /// A table that has nothing for these ranks is no error; report() says so.
  Collectives(RankThreads & threads, int rank);
  ~Collectives();
  Collectives(Collectives &&) noexcept;
  Collectives& operator=(Collectives&&) noexcept;

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;

  void all_reduce(const void* send, void* receive, std::size_t count, DataType type, ReduceOp op) {
    run({Collective::all_reduce, type, op, 0, count, send, receive});
  }
  void all_gather(const void* send, void* receive, std::size_t count, DataType type) {
    run({Collective::all_gather, type, ReduceOp::none, 0, count, send, receive});
  }
  /// With a block of another length for each rank (CollectiveCall::counts).
  void all_gather(const void* send, void* receive, std::span<const std::size_t> counts,
                  DataType type) {
    run({Collective::all_gather, type, ReduceOp::none, 0, 0, send, receive, counts});
  }
  void reduce_scatter(const void* send, void* receive, std::size_t count, DataType type,
                      ReduceOp op) {
    run({Collective::reduce_scatter, type, op, 0, count, send, receive});
  }
  void reduce_scatter(const void* send, void* receive, std::span<const std::size_t> counts,
                      DataType type, ReduceOp op) {
    run({Collective::reduce_scatter, type, op, 0, 0, send, receive, counts});
  }
  void broadcast(void* buffer, std::size_t count, DataType type, int root) {
    run({Collective::broadcast, type, ReduceOp::none, root, count, nullptr, buffer});
  }
  void reduce(const void* send, void* receive, std::size_t count, DataType type, ReduceOp op,
              int root) {
    run({Collective::reduce, type, op, root, count, send, receive});
  }
  void all_to_all(const void* send, void* receive, std::size_t count, DataType type) {
    run({Collective::all_to_all, type, ReduceOp::none, 0, count, send, receive});
  }
  void gather(const void* send, void* receive, std::size_t count, DataType type, int root) {
    run({Collective::gather, type, ReduceOp::none, root, count, send, receive});
  }
  void scatter(const void* send, void* receive, std::size_t count, DataType type, int root) {
    run({Collective::scatter, type, ReduceOp::none, root, count, send, receive});
  }
  /// Any of them.
  void run(const CollectiveCall& call);

  /// A mesh reduction as a single call. It runs the form that the table proved faster for ordinary
  /// calls of this very mesh and type at such sizes, if the program can run all its parts; else an
  /// all_reduce for each step. The first call over a mesh, and the first that runs by another form,
  /// is set up by all ranks together: they agree on it, and throw Error(invalid_argument) on all
  /// ranks if they ask for different ones; the object can then be used as before. The last 32
  /// meshes are kept.
  void mesh_reduce(const MeshReductionCall& call);

  /// Collective: prepares a call that is made again and again on these buffers. It runs what the
  /// table proved faster for persistent calls (`calling=persistent`), on buffers that all lie in
  /// symmetric memory first what it proved for those (`registered`). If the arguments of a rank are
  /// not valid, all ranks throw, and the object can be used as before.
  [[nodiscard]] PersistentCall prepare(const CollectiveCall& call);
  /// The same for a mesh reduction. Runs the form that the table proved faster for persistent calls
  /// of this very mesh, if all its parts are kernels of ours or the MPI library's own choice; else
  /// an all_reduce for each step by the library, or plain ones, on communicators that are made once
  /// for each partition.
  [[nodiscard]] PersistentCall prepare(const MeshReductionCall& call);

  /// Collective: `bytes` of memory on each rank, which the other ranks of its node map too, zeroed.
  /// Counts as `CollectivesOptions::memory`. Throws Error(resource_exhausted) on all ranks if one
  /// lacks it, Error(invalid_argument) if there are none or the ranks ask for different amounts.
  [[nodiscard]] SymmetricBuffer allocate(Bytes bytes);

  /// For a person: what ran how often on this rank and how long it took there (estimated from some
  /// of the calls), what the table's winners saved by its times, what did not run and why. Of
  /// persistent calls and mesh reductions, which have lines of their own, nothing is said of what
  /// they saved.
  [[nodiscard]] std::string report() const;

  class Impl;
  explicit Collectives(std::shared_ptr<Impl> impl);

 private:
  std::shared_ptr<Impl> impl_;
};

/// A prepared call. All ranks start and complete the calls of a communicator in one order, whatever
/// they are; several may be under way at a time. Keeps what it needs of its Collectives.
class [[gnu::visibility("default")]] PersistentCall {
 public:
  ~PersistentCall();
  PersistentCall(PersistentCall &&) noexcept;
  PersistentCall& operator=(PersistentCall&&) noexcept;

  /// Waits for nobody. Throws Error(failed_precondition) if the call is under way.
  void start();
  /// Completes it: the library's own collective runs here as a whole. Throws
  /// Error(failed_precondition) if it was not started.
  void wait();
  /// What runs: a variant, "name{a=1,b=ring}", or "" for the library's own or the plain one.
  [[nodiscard]] const std::string& variant() const;

 private:
  friend class Collectives;
  class Impl;
  explicit PersistentCall(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Memory of Collectives::allocate. Its destruction is local; destroy it when the calls on it are
/// destroyed and no rank uses this rank's part.
class [[gnu::visibility("default")]] SymmetricBuffer {
 public:
  ~SymmetricBuffer();
  SymmetricBuffer(SymmetricBuffer &&) noexcept;
  SymmetricBuffer& operator=(SymmetricBuffer&&) noexcept;

  /// This rank's part.
  [[nodiscard]] std::span<std::byte> bytes() const;
  /// The part of `rank`, as it is mapped here; empty if that rank is on another node.
  [[nodiscard]] std::span<std::byte> part(int rank) const;

 private:
  friend class Collectives;
  class Impl;
  explicit SymmetricBuffer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace colltune
