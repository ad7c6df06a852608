// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "colltune/kernels/communication/signals.h"
#include "colltune/kernels/communicator.h"

namespace colltune {

/// Starts runs of ranks that share cores, in one round of signals. A barrier of several rounds,
/// like MPI's, needs the cores to switch between ranks in each round. The ranks then leave it some
/// switches apart, at 2 us each, and every run's time includes that; a short collective takes only
/// 3 us. Not thread-safe; one object per rank.
class StartBarrier {
 public:
  /// Whether the ranks share cores and are all on one node.
  [[nodiscard]] static bool is_defined_on(const Communicator& communicator);
  /// Collective over the communicator, which must outlive this object.
  StartBarrier(Communicator& communicator, Deadline deadline);

  /// Collective: returns when all ranks have called it. Throws RankMissing.
  void meet(Deadline deadline);

 private:
  Communicator& communicator_;
  std::unique_ptr<SymmetricMemory> memory_;
  Signals signals_;
  std::uint64_t epoch_ = 0;
};

}  // namespace colltune
