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
  double from = 0;    ///< the shortest hand-over, ns
  double median = 0;  ///< ns
  double share = 1;   ///< of all visits

  friend bool operator==(const MachineState&, const MachineState&) = default;
};

/// The machine states that a sweep's visits met, as far as they show in the time of a signal from
/// core to core (Conditions::hand_over). A hypervisor moves its virtual cores between near and
/// distant places several times a second, and which of two variants is faster depends on that. How
/// many of a key's few visits meet each state is luck. The shares of all visits to its world are
/// less so, but two sweeps of a minute still meet different mixes. So each state is weighted by the
/// mean of its share of all visits and an equal share, not by its share of the key's visits
/// (post-stratification with shrunken shares).
class MachineStates {
 public:
  /// From one world's measurements, all keys and passes.
  explicit MachineStates(std::span<const Measurement* const> of_world);

  /// For each pass of one key, the weight of its state divided by that state's share of the key's
  /// visits. It is at most 3, since few visits must not stand for all. If any pass has no
  /// hand-over, all passes weigh 1.
  [[nodiscard]] PassWeights weights_of(std::span<const Measurement* const> measurements) const;

  /// Ascending. One state if the visits do not differ; none if no hand-over was measured.
  [[nodiscard]] const std::vector<MachineState>& all() const { return states_; }

 private:
  [[nodiscard]] std::size_t state_of(double hand_over) const;

  std::vector<MachineState> states_;
};

}  // namespace colltune
