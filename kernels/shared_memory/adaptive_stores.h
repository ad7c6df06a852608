// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "shared_times.h"
#include "store_choice.h"

namespace colltune {

/// Applies StoreChoice to the calls of one rank's operation.
class AdaptiveStores {
 public:
  /// The ranks' times use SharedTimes::words words of `signals`, from `first_word` on. `signals`
  /// outlives this object.
  AdaptiveStores(const StoreChoice::Rhythm& rhythm, const Signals& signals,
                 const Communicator& communicator, int first_word)
      : choice_(rhythm), times_(signals, communicator, first_word) {}

  /// The store mode of the call that begins here.
  [[nodiscard]] StoreWay begin() noexcept;
  /// Reports the end of that call.
  void end() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  StoreChoice choice_;
  SharedTimes times_;
  Clock::time_point began_{};  ///< start of a call that is timed
};

}  // namespace colltune
