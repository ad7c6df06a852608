// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/device.h"
#include "colltune/kernels/operation.h"
#include "device_code/device_algorithm.h"

namespace colltune {

/// How `algorithm` is to run for a call.
struct DevicePlan {
  const DeviceAlgorithm& algorithm;
  device::DeviceCall call;  ///< the part common to all ranks' calls
  DeviceGrid grid;
  /// Scratch memory and its signals lie in host memory, so no device needs to reach another. For
  /// plain buffers only.
  bool has_host_scratch = false;
  bool is_captured = false;                                    ///< by the caller
  std::chrono::nanoseconds longest_wait = usual_longest_wait;  ///< Call::longest_wait
  /// Why Operation::rebind is refused; empty: `call.scratch_bytes` suffice for Call::capacity.
  std::string why_not_rebound{};
};

/// Prepares `plan` for this rank's `call`, whose buffers lie on its device. Collective. All ranks
/// throw or none, except for RankMissing. Throws UnavailableHere if a device cannot reach another,
/// which is tested by a write. The algorithm outlives the operation.
[[nodiscard]] std::unique_ptr<Operation> prepare_on_device(Communicator& communicator,
                                                           const DevicePlan& plan, const Call& call,
                                                           Deadline deadline);

}  // namespace colltune
