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

/// One rank's buffers for a call, sized by send_size() and receive_size(). Where
/// `Problem::in_place` is set, the smaller one is a view into the larger one, as MPI and NCCL
/// define it: the same bytes for all_reduce, reduce, broadcast and all_to_all; block `rank` of the
/// larger buffer for all_gather, reduce_scatter, gather (root) and scatter (root).
struct CallBuffers {
  std::span<const std::byte> send;
  std::span<std::byte> receive;
};

/// As long as a rank of a running job may rightly be late: it may write a checkpoint.
inline constexpr std::chrono::nanoseconds usual_longest_wait = std::chrono::minutes(5);

/// What a caller wants done, besides the variant: every rank passes the same problem and root, and
/// its own buffers.
struct Call {
  Problem problem;
  int root = 0;
  CallBuffers buffers;
  /// How long one of our kernels on a device waits for a peer where no host ends the wait: in
  /// replays of what was submitted (Operation::submit), and when the host is gone. A rank's own;
  /// above 0. Elsewhere the deadline of Operation::wait ends it.
  std::chrono::nanoseconds longest_wait = usual_longest_wait;
};

/// What a library that chooses for itself did in a call.
struct Executed {
  std::string choice;             ///< "algorithm=ring,channels=8,protocol=ll"
  bool is_what_was_named = true;  ///< else it did something else than the variant's settings say
};

/// A variant turns out not to be there, which `supports` could not know: a library says so when it
/// is asked. Thrown by `prepare` on all ranks or none, which stay in step; by `wait` of the first
/// call wherever it is so. Nothing went wrong.
class UnavailableHere final : public Error {
 public:
  explicit UnavailableHere(const std::string& reason)
      : Error(StatusCode::failed_precondition, reason) {}
};

/// What an operation runs on ended with another one that was given up (`Operation::is_lost`): it
/// was not called, and may be prepared anew.
class OperationLost final : public Error {
 public:
  explicit OperationLost(const std::string& reason) : Error(StatusCode::unavailable, reason) {}
};

/// A collective prepared for a rank: what sits between two clock reads. Start and wait alternate.
/// No kernel writes a peer's user buffer, or reads its input, before that peer's start; `wait`
/// returns only when no peer still reads this rank's input. Neither allocates memory. Not
/// thread-safe.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Begins the collective; never waits for a peer.
  virtual void start() = 0;
  /// Completes it. Throws RankMissing where a peer did not come until `deadline`, Error where the
  /// library reported one. After an exception the operation must not be started again; where the
  /// ranks are on several nodes, a message that MPI does not let go of may still touch the call's
  /// buffers, which then must stay as long as the process.
  virtual void wait(Deadline deadline) = 0;
  /// In the place of start and wait: puts a call on `queue`, a queue of the rank's device that the
  /// caller captures into a graph (of a GPU: the cudaStream_t, in capture), or just uses. Only of
  /// operations for problems with graph_capture. All ranks replay it as often, one replay behind
  /// the other; the operation and its buffers stay as long as the graph and what was made of it.
  /// All ranks submit at once: a library may make them meet. Nobody waits for replays here: one
  /// that some rank leaves out ends on the others with `end_submitted`, and, of our own kernels,
  /// after Call::longest_wait; then `check_submitted` says so. Throws Error where the call cannot
  /// be put on a queue.
  virtual void submit(void* queue);
  /// From any thread: what was submitted waits for nobody any more, and its results are worthless.
  virtual void end_submitted() {}
  /// When all replays so far have ended: throws RankMissing where a rank did not come to one, or
  /// Error where a library cannot say which rank that was.
  virtual void check_submitted() const {}
  /// How long the last call took by the clock of the device that ran it, waiting for late ranks
  /// included; nothing where no device did.
  [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> device_time() const { return {}; }
  /// What a library that chooses for itself did in the calls so far, as far as it says.
  [[nodiscard]] virtual std::optional<Executed> executed() const { return {}; }
  /// Whether what it runs on ended on this rank with another operation that was given up: calls
  /// throw OperationLost.
  [[nodiscard]] virtual bool is_lost() const { return false; }
  /// It is lost on another rank: this one's part ends too, and nobody waits for it at its end.
  virtual void give_up() noexcept {}
  /// What making the communicators of parts of the ranks took that it runs on, when they were first
  /// made, for whichever operation: a caller pays it once. Nothing where it needs none.
  [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> communicators_time() const {
    return {};
  }
};

inline void Operation::submit(void* /*queue*/) {
  throw Error(StatusCode::failed_precondition, "this call cannot be captured into a graph");
}

}  // namespace colltune
