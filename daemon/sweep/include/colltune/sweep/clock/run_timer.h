// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/device.h"
#include "colltune/kernels/operation.h"

namespace colltune {

/// The buffers of a run's calls, and what their owner writes into them before the run. The lists
/// must live until the run has ended.
struct RunInput {
  /// The inputs that are written; empty if they stay as the last run left them.
  std::span<const std::span<std::byte>> targets{};
  std::span<const std::byte> image{};  ///< as long as each target
  /// What is pushed out of the caches after that. On a device it is memory larger than the device's
  /// caches, and is filled instead.
  std::span<const std::span<std::byte>> evicted{};
  Device* device = nullptr;  ///< where all that lies; null: in the host's memory
  /// The buffers that each call binds, in the order of the calls; empty: the calls are persistent
  /// and keep theirs.
  std::span<const CallBuffers> bindings{};
};

/// Length and limits of one run.
struct RunLimits {
  int calls = 1;                             ///< back-to-back calls per sample
  std::chrono::nanoseconds call_limit{};     ///< for all calls of one sample together
  std::chrono::nanoseconds barrier_limit{};  ///< for the ranks to arrive at the start
};

/// The two clock reads around the calls of a run.
struct TimedCalls {
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
  [[nodiscard]] std::chrono::nanoseconds duration() const { return end - begin; }
};

/// Makes `calls` back-to-back calls on this rank. Only `start` and `wait` or, where `bindings`, one
/// for each call, are given, `call_each` lie between the two clock reads. Throws what the operation
/// throws.
[[nodiscard]] TimedCalls time_calls(Operation& operation, int calls, Deadline deadline,
                                    std::span<const CallBuffers> bindings = {});

/// The same, if the caller has already read the clock at the start of the calls; returns the
/// reading after them.
[[nodiscard]] std::chrono::steady_clock::time_point end_of_calls(
    Operation& operation, int calls, Deadline deadline, std::span<const CallBuffers> bindings = {});

/// Writes the image into the targets, as an application would write its data just before the call,
/// and evicts what must not be in the caches.
void rewrite(const RunInput& input);

/// The steps before the timed part of a run: rewrite, then barrier. Returns the deadline of the
/// run's calls. Collective; throws RankMissing if a rank does not arrive.
[[nodiscard]] Deadline start_together(Communicator& communicator, const RunInput& input,
                                      const RunLimits& limits);

/// One run of the sweep on this rank: start_together, then time_calls. Collective.
[[nodiscard]] std::chrono::nanoseconds time_run(Communicator& communicator, Operation& operation,
                                                const RunInput& input, const RunLimits& limits);

/// The smallest difference between two readings of the clock that are not equal.
[[nodiscard]] std::chrono::nanoseconds clock_resolution();

}  // namespace colltune
