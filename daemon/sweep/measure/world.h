// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "cell_data.h"
#include "clock/hand_over.h"
#include "colltune/kernels/communication/subgroups.h"
#include "colltune/sweep/clock/global_clock.h"
#include "colltune/sweep/clock/starter.h"

namespace colltune {

/// Time to exchange words about clocks, in addition to the time that ranks may need to arrive.
inline constexpr std::chrono::seconds clock_limit{10};

/// The ranks of one world, as seen by this rank; the communicators are null on ranks beyond it.
///
/// Runs are started on a communicator that no implementation ever sees. So a variant that leaves
/// its own communicator out of step does not affect the others.
struct World {
  std::function<std::unique_ptr<Communicator>()> split;  ///< collective over the launch
  std::unique_ptr<Communicator> starts;
  std::unique_ptr<Communicator> operations;
  /// Communicators that a variant left out of step; kept while operations prepared on them live.
  std::vector<std::unique_ptr<Communicator>> retired;
  /// Subgroups of `operations`, for mesh reductions; null on ranks beyond the world, or if not made
  /// yet. Destroyed before the communicators that they are parts of.
  std::unique_ptr<Subgroups> subgroups;
  bool is_suspect = false;  ///< a variant failed on `operations` after preparation
  BufferArena arena;
  ClockOffset clock;
  std::chrono::nanoseconds lead = shortest_lead;  ///< of window starts; the same on all ranks
  std::chrono::nanoseconds longest_lead{};        ///< 0: not determined yet
  std::unique_ptr<StartBarrier> start_barrier;  ///< null: not made yet, or not defined on `starts`
  std::unique_ptr<HandOverProbe> hand_over;     ///< null: not made yet, or not defined on `starts`

  [[nodiscard]] bool is_member() const { return starts != nullptr; }
  /// Replaces `operations`. Collective over the launch.
  void renew_operations() {
    subgroups.reset();
    retired.push_back(std::move(operations));
    operations = split();
  }
};

}  // namespace colltune
