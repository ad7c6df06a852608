// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "colltune/kernels/abort_flag.h"
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

/// What a caller wants done, besides the variant: every rank passes the same problem and root, and
/// its own buffers.
struct Call {
  Problem problem;
  int root = 0;
  CallBuffers buffers;
};

/// What a library that chooses for itself did in a call.
struct Executed {
  std::string choice;             ///< "algorithm=ring,channels=8,protocol=ll"
  bool is_what_was_named = true;  ///< else it did something else than the variant's settings say
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
  /// How long the last call took by the clock of the device that ran it, waiting for late ranks
  /// included; nothing where no device did.
  [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> device_time() const { return {}; }
  /// What a library that chooses for itself did in the calls so far, as far as it says.
  [[nodiscard]] virtual std::optional<Executed> executed() const { return {}; }
  /// What making the communicators of parts of the ranks took that it runs on, when they were first
  /// made, for whichever operation: a caller pays it once. Nothing where it needs none.
  [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> communicators_time() const {
    return {};
  }
};

}  // namespace colltune
