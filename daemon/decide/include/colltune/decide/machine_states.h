// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <vector>

#include "colltune/decide/rounds.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// Visits in which signals took about the same time.
struct MachineState {
  double from = 0;    ///< the least hand-over, ns
  double median = 0;  ///< ns
  double share = 1;   ///< of all visits

  friend bool operator==(const MachineState&, const MachineState&) = default;
};

/// The states of the machine that a sweep's visits met, as far as they show in how long a signal
/// takes from core to core (Conditions::hand_over): a hypervisor moves its virtual cores between
/// neighbouring and distant ones, several times a second, and which of two variants is faster
/// depends on that. How many of a key's few visits meet which state is luck; how many of all visits
/// to its world do, less so, but a sweep of a minute meets another mix than the next one. So each
/// state counts by the mean of its share of all visits and an equal one, and not by its share of
/// the key's visits (post-stratification with shrunken shares).
class MachineStates {
 public:
  /// Of one world's measurements, all keys and passes.
  explicit MachineStates(std::span<const Measurement* const> of_world);

  /// For each pass of one key what its state counts over its share of the key's visits, at most 3:
  /// few visits must not stand for all. Where a pass has no hand-over, all weigh 1.
  [[nodiscard]] PassWeights weights_of(std::span<const Measurement* const> measurements) const;

  /// Ascending; one where the visits do not differ, none where no hand-over was measured.
  [[nodiscard]] const std::vector<MachineState>& all() const { return states_; }

 private:
  [[nodiscard]] std::size_t state_of(double hand_over) const;

  std::vector<MachineState> states_;
};

}  // namespace colltune
