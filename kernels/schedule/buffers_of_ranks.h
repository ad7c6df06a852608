// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "colltune/kernels/communication/signals.h"
#include "colltune/kernels/communicator.h"
#include "colltune/kernels/operation.h"
#include "schedule.h"
#include "shared_memory/cross_memory.h"

namespace colltune {

/// Where the buffers of all ranks are in the present call, as far as this rank may access them.
/// Each rank tells the others on a card beside its signal of the phase before the waits: a rank
/// that accesses the buffers has seen a signal of this call before, and their owner ends the call
/// only when nobody accesses them any more. Not thread-safe.
class BuffersOfRanks {
 public:
  /// Uses the room beside `word` of `signals`. Collective if the access is direct: all ranks throw
  /// Error(failed_precondition) if the buffers of some rank do not lie in symmetric memory that all
  /// ranks of its node share. The arguments outlive this object.
  BuffersOfRanks(Communicator& communicator, const Signals& signals, int word, Access access,
                 const CallBuffers& buffers, Deadline deadline);

  /// This rank's buffers from the next call on. Throws Error(invalid_argument), and changes
  /// nothing, if the access is direct and they do not lie in such memory.
  void use(const CallBuffers& buffers);

  /// Of this rank, or of one whose memory is mapped (Access::direct).
  [[nodiscard]] std::byte* mapped(int rank, Space space);
  /// Of another rank (Access::cma).
  [[nodiscard]] ProcessMemory far(int rank, Space space) const;

 private:
  /// A rank's buffers as it names them to the others: by address in its process, or in symmetric
  /// memory.
  template <class Name>
  struct Card {
    Name send;
    Name receive;
  };
  /// The part of an allocation that was accessed last.
  struct Known {
    AllocationName allocation{};
    std::byte* part = nullptr;
  };

  [[nodiscard]] bool is_shared(std::span<const std::byte> own) const;
  [[nodiscard]] SymmetricAddress symmetric_address_of(std::span<const std::byte> own);
  template <class Name>
  void show(const Card<Name>& card) const;
  template <class Name>
  [[nodiscard]] Name shown_by(int rank, Space space) const;

  Communicator& communicator_;
  const Signals& signals_;
  int word_;
  Access access_;
  int rank_;
  std::byte* send_ = nullptr;
  std::byte* receive_ = nullptr;
  AllocationName shared_{};   ///< of this rank: known to be shared with all ranks of its node
  std::vector<Known> known_;  ///< by rank, then send or receive
};

}  // namespace colltune
