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

/// A rank's input, and what its owner writes into it before each run.
struct RunInput {
  std::span<std::byte> target;
  std::span<const std::byte> image;  ///< as long as `target`
  /// More bytes to push out of the caches. On a device it is memory larger than the device's
  /// caches; it is filled instead.
  std::span<std::byte> evicted;
  bool is_evicted = false;   ///< whether `target` leaves the caches after it was written
  Device* device = nullptr;  ///< where `target` lies; null: in the host's memory
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

/// Makes `calls` back-to-back calls on this rank. Only `start` and `wait` lie between the two clock
/// reads. Throws what the operation throws.
[[nodiscard]] TimedCalls time_calls(Operation& operation, int calls, Deadline deadline);

/// The same, if the caller has already read the clock at the start of the calls; returns the
/// reading after them.
[[nodiscard]] std::chrono::steady_clock::time_point end_of_calls(Operation& operation, int calls,
                                                                 Deadline deadline);

/// Writes the image into the target, as an application would write its data just before the call,
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
