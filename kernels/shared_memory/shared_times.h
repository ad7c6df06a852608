// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "colltune/kernels/communication/signals.h"
#include "store_choice.h"

namespace colltune {

/// What the ranks of a node tell each other of their probes, without waiting for one another: in a
/// signal word for each way, which holds the number of the probe above the time.
class SharedTimes {
 public:
  static constexpr int words = static_cast<int>(StoreChoice::ways.size());

  /// The words from `first` on of `signals`, which outlives this. Ranks that have none of these
  /// objects are not waited for.
  SharedTimes(const Signals& signals, const Communicator& communicator, int first);

  /// Of this rank's next probe.
  void publish(const StoreChoice::Times& own) noexcept;
  /// The slowest rank's of that probe (or of a later one of its), once; nothing before all have
  /// published.
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
