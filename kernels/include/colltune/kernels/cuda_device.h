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

/// GPU `number` of count_cuda_devices(). Makes its context. Throws Error(failed_precondition) where
/// it cannot be used, Error(invalid_argument) where there is none of that number.
[[nodiscard]] std::unique_ptr<Device> open_cuda_device(int number);

}  // namespace colltune
