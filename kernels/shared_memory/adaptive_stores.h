// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "shared_times.h"
#include "store_choice.h"

namespace colltune {

/// Stores that adapt, of one rank's calls of an operation.
class AdaptiveStores {
 public:
  /// The ranks' times take SharedTimes::words words of `signals`, which outlives this, from
  /// `first_word` on.
  AdaptiveStores(const StoreChoice::Rhythm& rhythm, const Signals& signals,
                 const Communicator& communicator, int first_word)
      : choice_(rhythm), times_(signals, communicator, first_word) {}

  /// How the call that begins here stores.
  [[nodiscard]] StoreWay begin() noexcept;
  /// That call has ended.
  void end() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  StoreChoice choice_;
  SharedTimes times_;
  Clock::time_point began_{};  ///< a call that is timed
};

}  // namespace colltune
