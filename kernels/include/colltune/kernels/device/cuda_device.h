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
  std::string
      why_none;  ///< where there are none, for a person: no CUDA in this build, no driver, …
};
[[nodiscard]] CudaDevices count_cuda_devices();

/// How a device's launches are timed, for measuring programs.
struct CudaDeviceOptions {
  /// A launch begins when all of it lies on the device's queue, so that `DeviceLaunch::duration` is
  /// without the host's time for putting it there. The call as a whole takes longer then. Launches
  /// of graphs are timed in this way always.
  bool times_device_alone = false;
  /// Calls that one start of a graph makes, one after the other; `duration` is of one of them.
  int calls_of_graph = 1;
};

/// GPU `number` of count_cuda_devices(). Makes its context. Throws Error(failed_precondition) where
/// it cannot be used, Error(invalid_argument) where there is none of that number.
[[nodiscard]] std::unique_ptr<Device> open_cuda_device(int number,
                                                       const CudaDeviceOptions& options = {});

}  // namespace colltune
