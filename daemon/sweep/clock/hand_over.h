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

/// How far apart the ranks' cores are at this moment: what it takes until a rank sees the signal of
/// its neighbour. On a virtual machine that changes within a launch, since the hypervisor moves its
/// cores between the host's, and it decides what storing through the caches costs: between cores of
/// two dies of an AMD EPYC 9004 160 ns (36 ns for each line that the other one has read), between
/// two of a die 30 ns (9 ns). Not thread-safe; one object per rank.
class HandOverProbe {
 public:
  /// Whether that can be said: some ranks share a node, and each has a core of its own.
  [[nodiscard]] static bool is_defined_on(const Communicator& communicator);
  /// Collective over the communicator, which outlives this object.
  HandOverProbe(Communicator& communicator, Deadline deadline);

  /// Collective: of a few signals to and fro between neighbours on each node, the mean time of one;
  /// of this rank's neighbours the farther. 0 where it has none. Throws RankMissing.
  [[nodiscard]] std::chrono::nanoseconds measure(Deadline deadline);

 private:
  [[nodiscard]] std::chrono::nanoseconds measure_with(int peer, bool is_first, int word,
                                                      Deadline deadline) const;

  int rank_;
  std::vector<int> of_node_;  ///< the ranks of this rank's node, ascending
  std::unique_ptr<SymmetricMemory> memory_;
  Signals signals_;
  std::uint64_t epoch_ = 0;  ///< that all words have reached
};

}  // namespace colltune
