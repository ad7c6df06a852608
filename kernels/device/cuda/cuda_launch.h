// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <span>

#include "colltune/kernels/device.h"
#include "colltune/kernels/device/cuda_device.h"
#include "device_code/device_algorithm.h"

namespace colltune {

template <class Handle, cudaError_t (*destroy)(Handle)>
struct Destroyer {
  void operator()(Handle handle) const noexcept { static_cast<void>(destroy(handle)); }
};
using Stream = std::unique_ptr<CUstream_st, Destroyer<cudaStream_t, cudaStreamDestroy>>;
using Event = std::unique_ptr<CUevent_st, Destroyer<cudaEvent_t, cudaEventDestroy>>;
using Graph = std::unique_ptr<CUgraph_st, Destroyer<cudaGraph_t, cudaGraphDestroy>>;
using GraphExec = std::unique_ptr<CUgraphExec_st, Destroyer<cudaGraphExec_t, cudaGraphExecDestroy>>;

/// A stream that neither waits for the legacy default stream nor makes it wait.
[[nodiscard]] Stream make_stream();

/// Captures what `put` puts on the queue that it receives; none of it runs.
[[nodiscard]] std::unique_ptr<DeviceGraph> capture_on_gpu(
    int gpu, const std::function<void(void* queue)>& put);

/// A launch of the algorithm's kernel for the ranks of `calls` and, if it has them, of their
/// copies.
[[nodiscard]] std::unique_ptr<DeviceLaunch> make_cuda_launch(
    int gpu, const DeviceAlgorithm& algorithm, std::span<const device::DeviceCall> calls,
    DeviceGrid grid, const CudaDeviceOptions& options);

/// A launch of a library's work on a stream of its own, between two events.
[[nodiscard]] std::unique_ptr<DeviceLaunch> make_cuda_library_launch(
    int gpu, DeviceSubmission& submission, const CudaDeviceOptions& options);

}  // namespace colltune
