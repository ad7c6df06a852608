// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/communicator.h"
#include "colltune/kernels/operation.h"
#include "schedule.h"
#include "shared_memory/store_choice.h"

namespace colltune {

/// What a schedule leaves open: how the message is cut, and how it is stored.
struct ScheduleOptions {
  /// Bytes of a wave: of the message, or of each block if it has one per rank. 0: everything in one
  /// wave.
  std::size_t chunk = 0;
  StoreWay stores{};
  bool adapts = false;  ///< uses the store mode that StoreChoice finds instead
};

/// The most symmetric memory that such an operation uses on each rank.
[[nodiscard]] Bytes memory_of(const Schedule& schedule, const ScheduledCall& shape,
                              const Problem& problem, const ScheduleOptions& options);

/// Collective: an operation that does this rank's part of `schedule`. Throws Error(unavailable) if
/// ScheduledCall::access cannot reach the buffers.
[[nodiscard]] std::unique_ptr<Operation> make_scheduled_operation(
    Communicator& communicator, const Call& call, const ScheduledCall& shape, Schedule schedule,
    const ScheduleOptions& options, Deadline deadline);

}  // namespace colltune
