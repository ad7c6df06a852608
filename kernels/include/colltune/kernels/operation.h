// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "colltune/machine/abort_flag.h"
#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/problem.h"

namespace colltune {

/// One rank's buffers for a call, sized by send_size() and receive_size(). If `Problem::in_place`
/// is set, the smaller one is a view into the larger one, as MPI and NCCL define it: the same bytes
/// for all_reduce, reduce, broadcast and all_to_all; block `rank` of the larger buffer for
/// all_gather, reduce_scatter, gather (root) and scatter (root).
struct CallBuffers {
  std::span<const std::byte> send;
  std::span<std::byte> receive;
};

/// Throws Error(invalid_argument) if `bound` differ in size from what was `prepared`.
inline void check_bound_sizes(const CallBuffers& prepared, const CallBuffers& bound) {
  if (prepared.send.size() != bound.send.size() || prepared.receive.size() != bound.receive.size())
      [[unlikely]]
    throw Error(StatusCode::invalid_argument,
                "this call was prepared for " + std::to_string(prepared.send.size()) +
                    " bytes to send and " + std::to_string(prepared.receive.size()) +
                    " to receive, not for " + std::to_string(bound.send.size()) + " and " +
                    std::to_string(bound.receive.size()));
}

/// How late a rank of a running job may be without a fault: it may be writing a checkpoint.
inline constexpr std::chrono::nanoseconds usual_longest_wait = std::chrono::minutes(5);

/// What the caller wants done, apart from the variant: every rank passes the same problem and root,
/// and its own buffers.
struct Call {
  Problem problem;
  int root = 0;
  CallBuffers buffers;
  /// How long a colltune kernel on a device waits for a peer if no host can end the wait: in
  /// replays of submitted calls (Operation::submit), and after the host process is gone. Each rank
  /// sets its own; above 0. Otherwise the deadline of Operation::wait ends it.
  std::chrono::nanoseconds longest_wait = usual_longest_wait;
  /// The largest message of the calls that follow by Operation::rebind, at least that of `problem`;
  /// the same on all ranks. 0: none will follow.
  Bytes capacity{};
  /// Every call that follows is this one: the operation need not be bound, and a library may
  /// prepare for that. The same on all ranks.
  bool is_persistent = false;
  /// Bytes of each rank's block, the message together; empty exactly if the problem's counts are
  /// equal. The same on all ranks. Only read while the call is prepared or bound.
  std::span<const std::size_t> blocks{};
};

/// Throws Error(invalid_argument) unless the call's blocks are those of its problem on `ranks`
/// ranks.
void check_blocks(const Call& call, int ranks);

/// Returns the bytes of a block of `next`: of this rank's, if counts are unequal. Throws
/// Error(invalid_argument) if it is no call that an operation prepared for `prepared` may make on
/// `rank` of `ranks` (Operation::rebind), or Error(failed_precondition) if that was prepared
/// without a capacity. One that was prepared for unequal counts takes all counts, another one equal
/// ones.
std::size_t check_rebound(const Call& prepared, const Call& next, int rank, int ranks);

/// What a library that chooses for itself did in a call.
struct Executed {
  std::string choice;             ///< "algorithm=ring,channels=8,protocol=ll"
  bool is_what_was_named = true;  ///< else it did not do what the variant's settings say
};

/// A variant turns out to be unavailable, which `supports` could not know: the library says so only
/// when asked. `prepare` throws it on all ranks or none, so they stay in step; `wait` of the first
/// call (after `rebind`: of its size, type and operator) on each rank concerned. It is no error.
class UnavailableHere final : public Error {
 public:
  explicit UnavailableHere(const std::string& reason)
      : Error(StatusCode::failed_precondition, reason) {}
};

/// The library communicator that an operation runs on ended with another operation that was given
/// up (`Operation::is_lost`). This operation was not called and may be prepared again.
class OperationLost final : public Error {
 public:
  explicit OperationLost(const std::string& reason) : Error(StatusCode::unavailable, reason) {}
};

/// A collective prepared for one rank; what is timed. `start` and `wait` alternate; between them a
/// caller may `bind` other buffers, or `rebind` another call. No kernel writes a peer's user
/// buffer, or reads its input, before that peer's start; `wait` returns only when no peer still
/// reads this rank's input. None of these calls allocates memory. Not thread-safe.
class Operation {
 public:
  virtual ~Operation() = default;
  /// The calls that start from now on use `buffers`. Local: waits for nobody, and the other ranks
  /// need not do the same. Sizes are those of the call that was prepared; where that was in place,
  /// so are these; registered buffers lie in symmetric memory that all ranks of the node share.
  /// Only if Implementation::why_not_bound gives no reason against it; throws
  /// Error(failed_precondition) otherwise, and Error(invalid_argument) for other sizes or places.
  virtual void bind(const CallBuffers& buffers);
  /// The calls that start from now on are `call`, whose message may have any size up to
  /// Call::capacity of the prepared one, and whose root, data type, operator and `in_place` may be
  /// others too. All ranks do so before the same call, and `call` differs between ranks in its
  /// buffers alone; in reduce, gather and scatter `in_place` counts on the root only. Local: waits
  /// for nobody. Allocates memory only in the first call with a root. Only if
  /// Implementation::why_not_rebound gives no reason against it, else it throws
  /// Error(failed_precondition); as check_rebound and `bind` throw otherwise.
  virtual void rebind(const Call& call);
  /// Starts the collective; never waits for a peer.
  virtual void start() = 0;
  /// Completes it. Throws RankMissing if a peer does not arrive by `deadline`, Error if the library
  /// reports one. After an exception the operation must not be started again. If the ranks are on
  /// several nodes, a message that MPI does not release may still touch the call's buffers; they
  /// must then stay valid until the process ends.
  virtual void wait(Deadline deadline) = 0;
  /// Makes a call with each of `bindings`, one after the other, as bind, start and wait would. What
  /// a program calls without these three makes its calls in a loop of its own here.
  virtual void call_each(std::span<const CallBuffers> bindings, Deadline deadline) {
    for (const CallBuffers& buffers : bindings) {
      bind(buffers);
      start();
      wait(deadline);
    }
  }
  /// Instead of start and wait: puts a call on `queue`, a queue of the rank's device that the
  /// caller captures into a graph (of a GPU: the cudaStream_t, in capture) or simply uses. Only for
  /// operations of problems with graph_capture. All ranks must replay it the same number of times,
  /// one replay after the other; the operation and its buffers must live as long as the graph and
  /// everything made from it. All ranks submit at once, since a library may make them wait for each
  /// other. Nothing here waits for replays. If some rank leaves a replay out, `end_submitted` ends
  /// it on the others; in colltune's own kernels Call::longest_wait does so too. `check_submitted`
  /// then reports it. Throws Error if the call cannot be put on a queue.
  virtual void submit(void* queue);
  /// From any thread: ends all waits of submitted calls. Their results are worthless.
  virtual void end_submitted() {}
  /// After all replays so far have ended: throws RankMissing if a rank missed one, or Error if a
  /// library cannot say which rank that was.
  virtual void check_submitted() const {}
  /// Duration of the last call by the clock of the device that ran it, including waits for late
  /// ranks; nothing if no device ran it.
  [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> device_time() const { return {}; }
  /// What a library that chooses for itself did in the calls so far, as far as it reports that.
  [[nodiscard]] virtual std::optional<Executed> executed() const { return {}; }
  /// Whether its library communicator ended on this rank with another operation that was given up:
  /// calls then throw OperationLost.
  [[nodiscard]] virtual bool is_lost() const { return false; }
  /// The operation is lost on another rank: ends this rank's part too. Destroying it then waits for
  /// no other rank.
  virtual void give_up() noexcept {}
  /// How long it took to make the communicators of subsets of the ranks that this operation uses,
  /// when they were first made, whichever operation that was for: a caller pays it once. Nothing if
  /// it needs none.
  [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> communicators_time() const {
    return {};
  }
};

inline void Operation::bind(const CallBuffers& /*buffers*/) {
  throw Error(StatusCode::failed_precondition, "this call keeps the buffers it was prepared for");
}

inline void Operation::rebind(const Call& /*call*/) {
  throw Error(StatusCode::failed_precondition,
              "this call keeps the size and the root it was prepared for");
}

inline void Operation::submit(void* /*queue*/) {
  throw Error(StatusCode::failed_precondition, "this call cannot be captured into a graph");
}

}  // namespace colltune
