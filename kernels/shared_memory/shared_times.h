// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "colltune/kernels/communication/signals.h"
#include "store_choice.h"

namespace colltune {

/// Lets the ranks of a node exchange the times of their probes without waiting for one another: one
/// signal word for each store mode, with the number of the probe above the time.
class SharedTimes {
 public:
  static constexpr int words = static_cast<int>(StoreChoice::modes.size());

  /// Uses the words from `first` on of `signals`, which outlives this object. Ranks without such an
  /// object are not waited for.
  SharedTimes(const Signals& signals, const Communicator& communicator, int first);

  /// The times of this rank's next probe.
  void publish(const StoreChoice::Times& own) noexcept;
  /// The times of the slowest rank in that probe (or of a later probe, if a rank is ahead).
  /// Returned once; nothing before all ranks have published.
  [[nodiscard]] std::optional<StoreChoice::Times> take() noexcept;

 private:
  const Signals& signals_;
  int rank_;
  int first_;
  std::vector<int> near_;  ///< ranks that share this one's memory
  std::uint64_t probe_ = 0;
  bool is_taken_ = true;
};

}  // namespace colltune
