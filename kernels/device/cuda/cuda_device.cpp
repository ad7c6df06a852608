// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/device/cuda_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "cuda_error.h"
#include "cuda_launch.h"
#include "cuda_memory.h"
#include "device/nvml.h"
#include "device/virtual_memory.h"
#include "device_code/device_algorithm.h"

namespace colltune {
namespace {

int attribute(cudaDeviceAttr which, int gpu) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, gpu), "cudaDeviceGetAttribute");
  return value;
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

class CudaDevice final : public Device {
 public:
  CudaDevice(int gpu, const CudaDeviceOptions& options)
      : gpu_(gpu), options_(options), memory_(gpu) {
    check_cuda(cudaSetDevice(gpu), "cudaSetDevice");
    check_cuda(cudaGetDeviceProperties(&properties_, gpu), "cudaGetDeviceProperties");
    if (attribute(cudaDevAttrCooperativeLaunch, gpu) == 0)
      throw Error(StatusCode::failed_precondition,
                  "GPU " + std::to_string(gpu) + " starts no cooperative kernels");
    copies_ = make_stream();
    char bus_id[32] = {};
    check_cuda(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, gpu), "cudaDeviceGetPCIBusId");
    nvml_ = NvmlDevice::open(bus_id);
    std::string why_not;
    virtual_memory_ = VirtualMemory::open(gpu, why_not);
    why_no_multicast_ = virtual_memory_ ? virtual_memory_->why_no_multicast() : why_not;
  }

  DeviceFacts facts() const override {
    return {.architecture = "sm_" + std::to_string(properties_.major * 10 + properties_.minor),
            .identity = identity(),
            .features = features(),
            .cache_size = {static_cast<std::uint64_t>(properties_.l2CacheSize)}};
  }
  [[nodiscard]] std::string identity() const {
    std::string text = "GPU-";
    for (const char byte : properties_.uuid.bytes) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
      text += digits;
    }
    return text;
  }
  [[nodiscard]] std::map<std::string, std::string, std::less<>> features() const {
    int driver = 0;
    int runtime = 0;
    check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    std::map<std::string, std::string, std::less<>> found{
        {"device.name", properties_.name},
        {"device.processors", std::to_string(properties_.multiProcessorCount)},
        {"device.memory.bytes", std::to_string(properties_.totalGlobalMem)},
        {"device.cache.bytes", std::to_string(properties_.l2CacheSize)},
        {"cuda.driver", version_text(driver)},
        {"cuda.runtime", version_text(runtime)},
        {"cuda.compute_capability",
         std::to_string(properties_.major) + "." + std::to_string(properties_.minor)},
        {"cuda.peers", std::to_string(count_peers())},
        {"device.whole_lines", has_whole_lines() ? "peers" : "own"},
        {"device.handles", virtual_memory_ ? "file_descriptor" : "ipc"}};
    if (why_no_multicast_.empty())
      found.emplace("device.multicast", "switches");
    else
      found.emplace("device.multicast.unavailable", why_no_multicast_);
    if (nvml_) found.emplace("device.links", std::to_string(nvml_->count_links()));
    return found;
  }
  std::optional<DeviceState> state() const override {
    if (!nvml_) return std::nullopt;
    return nvml_->state();
  }

  std::byte* allocate(Bytes bytes, Memory memory) override {
    return memory_.allocate(static_cast<std::size_t>(bytes.value), memory);
  }
  void release(std::byte* memory) noexcept override { memory_.release(memory); }

  void write(std::byte* to, std::span<const std::byte> from) override {
    move(to, from.data(), from.size(), cudaMemcpyHostToDevice);
  }
  void read(std::span<std::byte> to, const std::byte* from) override {
    move(to.data(), from, to.size(), cudaMemcpyDeviceToHost);
  }
  void copy(std::byte* to, std::span<const std::byte> from) override {
    move(to, from.data(), from.size(), cudaMemcpyDeviceToDevice);
  }
  void fill(std::span<std::byte> bytes, unsigned char value) override {
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    check_cuda(cudaMemsetAsync(bytes.data(), value, bytes.size(), copies_.get()),
               "cudaMemsetAsync");
    check_cuda(cudaStreamSynchronize(copies_.get()), "cudaMemsetAsync");
  }

  DeviceHandle share(std::span<const std::byte> bytes) override { return memory_.share(bytes); }
  std::byte* open(const DeviceHandle& handle) override { return memory_.open(handle); }
  void close(std::byte* opened) noexcept override { memory_.close(opened); }
  VirtualMemory* virtual_memory() override { return virtual_memory_.get(); }

  std::byte* map(std::span<std::byte> bytes) override {
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    check_cuda(cudaHostRegister(bytes.data(), bytes.size(),
                                cudaHostRegisterMapped | cudaHostRegisterPortable),
               "cudaHostRegister");
    void* mapped = nullptr;
    if (const cudaError_t result = cudaHostGetDevicePointer(&mapped, bytes.data(), 0);
        result != cudaSuccess) {
      unmap(bytes);
      check_cuda(result, "cudaHostGetDevicePointer");
    }
    return static_cast<std::byte*>(mapped);
  }
  void unmap(std::span<std::byte> bytes) noexcept override {
    static_cast<void>(cudaHostUnregister(bytes.data()));
  }

  void reach(const Device& other) override {
    const auto* const peer = dynamic_cast<const CudaDevice*>(&other);
    if (peer != nullptr && peer->gpu_ == gpu_) return;
    if (peer == nullptr || !can_reach(peer->gpu_))
      throw Error(
          StatusCode::failed_precondition,
          "GPU " + std::to_string(gpu_) + " cannot reach the memory of " + other.facts().identity);
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    if (const cudaError_t result = cudaDeviceEnablePeerAccess(peer->gpu_, 0);
        result != cudaErrorPeerAccessAlreadyEnabled)
      check_cuda(result, "cudaDeviceEnablePeerAccess");
    else
      static_cast<void>(cudaGetLastError());
  }

  std::unique_ptr<DeviceLaunch> make_launch(const DeviceAlgorithm& algorithm,
                                            std::span<const device::DeviceCall> calls,
                                            DeviceGrid grid) override {
    const device::DeviceCall& call = calls.front();
    if (algorithm.needs_multicast && call.multicast == nullptr)
      throw Error(StatusCode::failed_precondition,
                  algorithm.name + " needs memory that reaches all GPUs at once: " +
                      (why_no_multicast_.empty() ? "not all of them have it" : why_no_multicast_));
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    const auto ready = [&](const void* kernel) {
      make_ready(kernel, algorithm, static_cast<int>(calls.size()), grid);
    };
    ready(choose_kernel(algorithm.kernels, call.type, call.op));
    if (grid.is_rebound)
      for (const void* const kernel : {algorithm.kernels.any, algorithm.kernels.f32_sum,
                                       algorithm.kernels.f16_sum, algorithm.kernels.bf16_sum})
        if (kernel != nullptr) ready(kernel);
    return make_cuda_launch(gpu_, algorithm, calls, grid, options_);
  }

  std::unique_ptr<DeviceLaunch> make_library_launch(DeviceSubmission& submission) override {
    make_current();
    return make_cuda_library_launch(gpu_, submission, options_);
  }
  std::unique_ptr<DeviceGraph> capture(const std::function<void(void* queue)>& put) override {
    make_current();
    return capture_on_gpu(gpu_, put);
  }
  bool keep_with_capture(void* queue, std::shared_ptr<const void> kept) override {
    make_current();
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
    check_cuda(cudaStreamGetCaptureInfo(static_cast<cudaStream_t>(queue), &status, nullptr, &graph,
                                        nullptr, nullptr, nullptr),
               "cudaStreamGetCaptureInfo");
    if (status == cudaStreamCaptureStatusNone) return false;
    if (status != cudaStreamCaptureStatusActive)
      throw Error(StatusCode::failed_precondition,
                  "the capture of the caller's queue is not valid");
    using Kept = std::shared_ptr<const void>;
    auto owned = std::make_unique<Kept>(std::move(kept));
    cudaUserObject_t object = nullptr;
    check_cuda(cudaUserObjectCreate(
                   &object, owned.get(), [](void* made) { delete static_cast<Kept*>(made); }, 1,
                   cudaUserObjectNoDestructorSync),
               "cudaUserObjectCreate");
    static_cast<void>(owned.release());
    if (const cudaError_t result =
            cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
        result != cudaSuccess) {
      static_cast<void>(cudaUserObjectRelease(object, 1));
      check_cuda(result, "cudaGraphRetainUserObject");
    }
    return true;
  }
  void make_current() override { check_cuda(cudaSetDevice(gpu_), "cudaSetDevice"); }

 private:
  /// Loads `kernel` for `ranks` ranks. Throws Error if its blocks do not run at once.
  void make_ready(const void* kernel, const DeviceAlgorithm& algorithm, int ranks,
                  const DeviceGrid& grid) const {
    // Loads the kernel now. A lazy load at the first launch could wait for the end of another
    // kernel that in turn waits for this one (CUDA C++ Programming Guide, Lazy Loading, "Concurrent
    // Execution").
    cudaFuncAttributes attributes{};
    check_cuda(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
    int blocks_of_processor = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_of_processor, kernel,
                                                             grid.threads, 0),
               "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const int most = blocks_of_processor * properties_.multiProcessorCount;
    if (ranks * grid.blocks > most)
      throw Error(StatusCode::resource_exhausted,
                  std::to_string(ranks * grid.blocks) + " blocks of " +
                      std::to_string(grid.threads) + " threads of " + algorithm.name +
                      " must run at once; this GPU runs " + std::to_string(most));
  }
  [[nodiscard]] bool can_reach(int other) const {
    int can = 0;
    check_cuda(cudaDeviceCanAccessPeer(&can, gpu_, other), "cudaDeviceCanAccessPeer");
    return can != 0;
  }
  [[nodiscard]] int count_peers() const {
    int peers = 0;
    for (int other = 0; other < count_cuda_devices().count; ++other)
      if (other != gpu_ && can_reach(other)) ++peers;
    return peers;
  }
  /// NVLink keeps 128 bytes that a warp stores at once together (NCCL sends LL128 over nothing
  /// else). Support for atomics between devices tells it from PCI Express without a query for
  /// links.
  [[nodiscard]] bool has_whole_lines() const {
    int peers = 0;
    for (int other = 0; other < count_cuda_devices().count; ++other) {
      if (other == gpu_ || !can_reach(other)) continue;
      int has_atomics = 0;
      check_cuda(
          cudaDeviceGetP2PAttribute(&has_atomics, cudaDevP2PAttrNativeAtomicSupported, gpu_, other),
          "cudaDeviceGetP2PAttribute");
      if (has_atomics == 0) return false;
      ++peers;
    }
    return peers > 0;
  }
  void move(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    check_cuda(cudaMemcpyAsync(to, from, bytes, kind, copies_.get()), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(copies_.get()), "cudaMemcpyAsync");
  }

  int gpu_;
  CudaDeviceOptions options_;
  cudaDeviceProp properties_{};
  CudaMemory memory_;
  Stream copies_;                                  ///< for read, write and fill
  std::unique_ptr<const NvmlDevice> nvml_;         ///< null if NVML is unavailable
  std::unique_ptr<VirtualMemory> virtual_memory_;  ///< null if the device offers none
  std::string why_no_multicast_;                   ///< empty: multicast is available
};

}  // namespace

CudaDevices count_cuda_devices() {
  CudaDevices devices;
  const cudaError_t result = cudaGetDeviceCount(&devices.count);
  if (result == cudaSuccess && devices.count > 0) return devices;
  static_cast<void>(cudaGetLastError());
  devices.count = 0;
  devices.why_none = std::string("no GPU: ") +
                     cudaGetErrorString(result == cudaSuccess ? cudaErrorNoDevice : result);
  return devices;
}

std::unique_ptr<Device> open_cuda_device(int number, const CudaDeviceOptions& options) {
  const CudaDevices devices = count_cuda_devices();
  if (devices.count == 0) throw Error(StatusCode::failed_precondition, devices.why_none);
  if (number < 0 || number >= devices.count)
    throw Error(StatusCode::invalid_argument, "there is no GPU " + std::to_string(number) +
                                                  "; this process sees " +
                                                  std::to_string(devices.count) + ", from 0 on");
  try {
    return std::make_unique<CudaDevice>(number, options);
  } catch (const Error& error) {
    throw Error(StatusCode::failed_precondition, error.what());
  }
}

}  // namespace colltune
