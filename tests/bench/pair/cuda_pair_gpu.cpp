// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/device/cuda_device.h"
#include "pair_gpu.h"

namespace colltune {

std::string why_no_pair_gpu() {
  const CudaDevices gpus = count_cuda_devices();
  return gpus.count == 0 ? gpus.why_none : std::string();
}

std::unique_ptr<Device> open_pair_gpu() { return open_cuda_device(0); }

}  // namespace colltune
