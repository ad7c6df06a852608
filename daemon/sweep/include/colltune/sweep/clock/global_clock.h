// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include "colltune/kernels/communicator.h"

namespace colltune {

/// What lies between this rank's steady clock and that of rank 0 of a communicator.
struct ClockOffset {
  std::chrono::nanoseconds offset{};  ///< to add to this rank's clock
  std::chrono::nanoseconds error{};   ///< bound on it; the worst of all ranks
  /// All ranks share a node and no message arrived before it was sent: they read one clock.
  bool is_one_clock = false;
  std::chrono::steady_clock::time_point estimated_at;
};

/// A rank's reading of its clock; tests pretend that ranks have unlike ones.
using ReadClock = std::function<std::chrono::nanoseconds()>;
[[nodiscard]] std::chrono::nanoseconds read_steady_clock();

/// Collective: estimates the offsets hierarchically. The first rank of each node exchanges words
/// with rank 0, then the others of the node with that one. What is sent at one time cannot arrive
/// before it: the shortest way there and the shortest way back bound the offset from both sides.
/// On one node an offset of 0 within the bounds is taken for what it is: one clock. Throws
/// RankMissing.
[[nodiscard]] ClockOffset estimate_clock_offset(Communicator& communicator, Deadline deadline,
                                                const ReadClock& read = read_steady_clock);

}  // namespace colltune
