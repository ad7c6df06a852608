// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "colltune/kernels/operation.h"
#include "schedule.h"

namespace colltune {

/// Writes the schedule of a call.
using WriteSchedule = std::function<Schedule(const ScheduledCall&)>;

/// What one rank does in calls with one root.
struct RootPlan {
  RankSchedule own;
  /// By phase: epochs from one wave to the next, for all ranks: one for the beginning of the wave,
  /// one for each step, one for the end of the call.
  std::array<std::uint64_t, 2> stride{};
  std::size_t most_sources = 0;      ///< of one step
  std::vector<int> peers{};          ///< by message of a wave: the rank at its other end
  std::vector<const Step*> early{};  ///< receives whose messages may arrive at any time
};

/// The plans of one rank for the calls of one operation. A schedule depends on the root and on
/// whether the call is in place, not on its size. Not thread-safe.
class RootPlans {
 public:
  /// What all plans need.
  struct Needs {
    int scratch_blocks = 0;  ///< per rank, for one wave
    int messages = 0;        ///< of this rank, in one wave
    int tags = 0;            ///< of messages, in one wave
  };

  /// For `rank`. `shape` is that of `call`. Without Call::capacity there is one plan. With it, the
  /// plans of all roots are written here where they may need unlike amounts of memory: if ranks are
  /// on several nodes or in groups.
  RootPlans(const Call& call, const ScheduledCall& shape, int rank, WriteSchedule write);

  [[nodiscard]] const Needs& needs() const { return needs_; }
  /// The plan of a call; written when it is first asked for, and kept. Throws Error(internal) if it
  /// needs more than `needs` says.
  [[nodiscard]] const RootPlan& of(int root, bool in_place);

 private:
  [[nodiscard]] std::size_t place_of(int root, bool in_place) const;
  const RootPlan& write(int root, bool in_place);

  ScheduledCall shape_;
  int rank_;
  WriteSchedule write_;
  Needs needs_{};
  bool are_needs_known_ = false;
  std::vector<std::unique_ptr<const RootPlan>> plans_;  ///< by root, then in_place
};

}  // namespace colltune
