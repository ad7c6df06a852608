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

/// A rank's input and what its owner writes into it before each run.
struct RunInput {
  std::span<std::byte> target;
  std::span<const std::byte> image;  ///< as long as `target`
  /// Further bytes to push out of the caches; on a device more than its caches hold, which are
  /// filled instead.
  std::span<std::byte> evicted;
  bool is_evicted = false;   ///< whether `target` leaves the caches after it was written
  Device* device = nullptr;  ///< where `target` lies; null: in the host's memory
};

/// One run's bounds and length.
struct RunLimits {
  int calls = 1;                             ///< back-to-back calls per sample
  std::chrono::nanoseconds call_limit{};     ///< for all calls of the sample together
  std::chrono::nanoseconds barrier_limit{};  ///< for the ranks to come to the start
};

/// The two clock reads around the calls of a run.
struct TimedCalls {
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
  [[nodiscard]] std::chrono::nanoseconds duration() const { return end - begin; }
};

/// `calls` back-to-back calls on this rank: nothing but `start` and `wait` lies between the two
/// clock reads. Throws what the operation throws.
[[nodiscard]] TimedCalls time_calls(Operation& operation, int calls, Deadline deadline);

/// The same where the clock was read already, when the calls may begin: the reading behind them.
[[nodiscard]] std::chrono::steady_clock::time_point end_of_calls(Operation& operation, int calls,
                                                                 Deadline deadline);

/// Writes the image into the target, as an application would have written its data just before,
/// and pushes out of the caches what is to be there no more.
void rewrite(const RunInput& input);

/// What precedes the timed part of a run: rewrite, barrier. Returns the deadline of the run's
/// calls. Collective; throws RankMissing where a rank does not come.
[[nodiscard]] Deadline start_together(Communicator& communicator, const RunInput& input,
                                      const RunLimits& limits);

/// One run of the sweep on this rank: start_together, then time_calls. Collective.
[[nodiscard]] std::chrono::nanoseconds time_run(Communicator& communicator, Operation& operation,
                                                const RunInput& input, const RunLimits& limits);

/// The smallest step between two readings of the clock that differ.
[[nodiscard]] std::chrono::nanoseconds clock_resolution();

}  // namespace colltune
