// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "colltune/kernels/communication/signals.h"
#include "colltune/kernels/communicator.h"

namespace colltune {

/// Measures how far apart the ranks' cores are right now: the time until a rank sees its
/// neighbour's signal. On a virtual machine this changes within a launch, because the hypervisor
/// moves virtual cores between the host's cores. It decides what a store through the caches costs:
/// on an AMD EPYC 9004, 160 ns between cores of two dies (36 ns for each line that the other core
/// has read) and 30 ns between cores of one die (9 ns a line). Not thread-safe; one object per
/// rank.
class HandOverProbe {
 public:
  /// Whether the hand-over can be measured: some ranks share a node, and each has its own core.
  [[nodiscard]] static bool is_defined_on(const Communicator& communicator);
  /// Collective over the communicator, which must outlive this object.
  HandOverProbe(Communicator& communicator, Deadline deadline);

  /// Collective: the mean time of one signal, over a few signals to and fro between neighbours on
  /// each node; the value for the farther of this rank's two neighbours. 0 if this rank has no
  /// neighbour. Throws RankMissing.
  [[nodiscard]] std::chrono::nanoseconds measure(Deadline deadline);

 private:
  [[nodiscard]] std::chrono::nanoseconds measure_with(int peer, bool is_first, int word,
                                                      Deadline deadline) const;

  int rank_;
  std::vector<int> of_node_;  ///< the ranks of this rank's node, ascending
  std::unique_ptr<SymmetricMemory> memory_;
  Signals signals_;
  std::uint64_t epoch_ = 0;  ///< the epoch that all words have reached
};

}  // namespace colltune
