// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include "colltune/kernels/communicator.h"

namespace colltune {

/// How this rank's steady clock relates to that of rank 0 of a communicator.
struct ClockOffset {
  std::chrono::nanoseconds offset{};  ///< to add to this rank's clock
  std::chrono::nanoseconds error{};   ///< bound on the offset's error; the worst of all ranks
  /// True if all ranks share a node and no message seemed to arrive before it was sent: they read
  /// one clock.
  bool is_one_clock = false;
  std::chrono::steady_clock::time_point estimated_at;
};

/// Reads a rank's clock; tests pass functions that imitate clocks with different offsets.
using ReadClock = std::function<std::chrono::nanoseconds()>;
[[nodiscard]] std::chrono::nanoseconds read_steady_clock();

/// Collective: estimates the offsets hierarchically. The first rank of each node exchanges words
/// with rank 0, then the other ranks of the node exchange words with that first rank. A message
/// cannot arrive before it is sent, so the fastest trip in each direction bounds the offset from
/// one side. If the ranks share a node and 0 lies within the bounds, they are taken to read one
/// clock. Throws RankMissing.
[[nodiscard]] ClockOffset estimate_clock_offset(Communicator& communicator, Deadline deadline,
                                                const ReadClock& read = read_steady_clock);

}  // namespace colltune
