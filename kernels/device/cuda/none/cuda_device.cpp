// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The device functions of a build without CUDA.

#include "colltune/kernels/device/cuda_device.h"

#include "colltune/vocabulary/error.h"

namespace colltune {

CudaDevices count_cuda_devices() { return {.why_none = "this build has no CUDA"}; }

std::unique_ptr<Device> open_cuda_device(int number, const CudaDeviceOptions&) {
  throw Error(StatusCode::failed_precondition,
              "GPU " + std::to_string(number) + " cannot be opened: this build has no CUDA");
}

}  // namespace colltune
