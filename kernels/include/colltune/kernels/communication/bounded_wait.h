// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "colltune/machine/abort_flag.h"

namespace colltune {

/// One wait for another rank that ends: spins, then pauses between looks, then gives the core away
/// (at once where ranks share cores), then sleeps between looks. Reads the clock only now and then,
/// and the abort flag at every step.
///
///     BoundedWait wait(deadline, abort_flag, yields_at_once);
///     while (!is_ready()) wait.step(rank, "chunk 7");
class BoundedWait {
 public:
  BoundedWait(Deadline deadline, const AbortFlag& abort_flag, bool yields_at_once) noexcept
      : deadline_(deadline), abort_flag_(abort_flag), yields_at_once_(yields_at_once) {}

  /// Passes a moment. Throws RankMissing, which names `rank` and `waiting_for`, at the deadline or
  /// where the abort flag is raised.
  void step(int rank, std::string_view waiting_for);

 private:
  Deadline deadline_;
  const AbortFlag& abort_flag_;
  bool yields_at_once_;
  std::uint32_t steps_ = 0;
};

}  // namespace colltune
