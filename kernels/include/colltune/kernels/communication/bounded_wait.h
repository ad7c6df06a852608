// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "colltune/machine/abort_flag.h"

namespace colltune {

/// A wait for another rank, bounded by a deadline. It spins, then pauses between looks, then yields
/// the core (at once if ranks share cores), then sleeps between looks, unless the abort flag names
/// something to go on with meanwhile. It checks the flag at every step and reads the clock only
/// every few steps.
///
///     BoundedWait wait(deadline, abort_flag, yields_at_once);
///     while (!is_ready()) wait.step(rank, "chunk 7");
class BoundedWait {
 public:
  BoundedWait(Deadline deadline, const AbortFlag& abort_flag, bool yields_at_once) noexcept
      : deadline_(deadline), abort_flag_(abort_flag), yields_at_once_(yields_at_once) {}

  /// Waits one step. Throws RankMissing, which names `rank` and `waiting_for`, at the deadline or
  /// if the abort flag is raised.
  void step(int rank, std::string_view waiting_for);

 private:
  Deadline deadline_;
  const AbortFlag& abort_flag_;
  bool yields_at_once_;
  std::uint32_t steps_ = 0;
};

}  // namespace colltune
