// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "colltune/kernels/device.h"

namespace colltune {

/// The GPUs that this process sees through CUDA.
struct CudaDevices {
  int count = 0;
  std::string why_none;  ///< if there are none, the reason for a person: no CUDA in this build, no
                         ///< driver, …
};
[[nodiscard]] CudaDevices count_cuda_devices();

/// How kernel launches are timed, for benchmark programs.
struct CudaDeviceOptions {
  /// A kernel launch begins only when all of it is on the device's queue, so that
  /// `DeviceLaunch::duration` excludes the host's time to put it there. The call as a whole then
  /// takes longer. Graphs are always timed in this way.
  bool times_device_alone = false;
  /// Calls that one start of a graph makes, one after the other; `duration` is the time of one
  /// call.
  int calls_of_graph = 1;
};

/// Opens GPU `number` of count_cuda_devices() and creates its context. Throws
/// Error(failed_precondition) if it cannot be used, Error(invalid_argument) if there is no such
/// number.
[[nodiscard]] std::unique_ptr<Device> open_cuda_device(int number,
                                                       const CudaDeviceOptions& options = {});

}  // namespace colltune
