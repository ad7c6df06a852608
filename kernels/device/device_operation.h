// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/device.h"
#include "colltune/kernels/operation.h"
#include "device_code/device_algorithm.h"

namespace colltune {

/// How `algorithm` is to run for a call.
struct DevicePlan {
  const DeviceAlgorithm& algorithm;
  device::DeviceCall call;  ///< what all ranks' calls have in common
  DeviceGrid grid;
  /// Scratch memory, and the signals in it, in the host's memory: no device need reach another one.
  /// For plain buffers.
  bool has_host_scratch = false;
  bool is_captured = false;                                    ///< by the caller
  std::chrono::nanoseconds longest_wait = usual_longest_wait;  ///< Call::longest_wait
};

/// `plan` for this rank's `buffers`, which lie on its device. Collective; all ranks throw, or none,
/// except for RankMissing: UnavailableHere where a device does not reach another one, which is
/// tried out. The algorithm outlives the operation.
[[nodiscard]] std::unique_ptr<Operation> prepare_on_device(Communicator& communicator,
                                                           const DevicePlan& plan,
                                                           const CallBuffers& buffers,
                                                           Deadline deadline);

}  // namespace colltune
