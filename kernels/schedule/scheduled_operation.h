// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/communicator.h"
#include "colltune/kernels/operation.h"
#include "root_plans.h"
#include "schedule.h"
#include "shared_memory/store_choice.h"

namespace colltune {

/// What a schedule leaves open: how the message is cut, and how it is stored.
struct ScheduleOptions {
  /// Bytes of a wave: of the message, or of each block if it has one per rank. 0: everything in one
  /// wave.
  std::size_t chunk = 0;
  StoreMode stores{};
  bool adapts = false;  ///< uses the store mode that StoreChoice finds instead
};

/// The most symmetric memory that such an operation uses on each rank, if a wave keeps
/// `scratch_blocks` there.
[[nodiscard]] Bytes memory_of(int scratch_blocks, const ScheduledCall& shape, const Call& call,
                              const ScheduleOptions& options);

/// Collective: an operation that does this rank's part of the schedules of `plans`. Throws
/// Error(failed_precondition) on all ranks if ScheduledCall::access cannot reach the buffers.
[[nodiscard]] std::unique_ptr<Operation> make_scheduled_operation(
    Communicator& communicator, const Call& call, const ScheduledCall& shape,
    std::unique_ptr<RootPlans> plans, const ScheduleOptions& options, Deadline deadline);

}  // namespace colltune
