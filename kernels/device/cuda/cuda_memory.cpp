// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda_memory.h"

#include <cuda.h>

#include <cstring>
#include <sstream>

#include "cuda_error.h"

namespace colltune {
namespace {

using GetAddressRange = CUresult (*)(CUdeviceptr* base, std::size_t* size, CUdeviceptr pointer);

/// The allocation that `pointer`, not ours, lies in. The driver's function is looked up through the
/// runtime, so that the program starts on machines without a driver.
std::span<std::byte> find_allocation(const std::byte* pointer) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  constexpr unsigned since = 3020;  // CUDA 3.2: 64-bit sizes
  check_cuda(cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &function, since,
                                              cudaEnableDefault, &found),
             "cuMemGetAddressRange");
  CUdeviceptr base = 0;
  std::size_t size = 0;
  if (function == nullptr ||
      reinterpret_cast<GetAddressRange>(function)(
          &base, &size, reinterpret_cast<CUdeviceptr>(pointer)) != CUDA_SUCCESS)
    throw Error(StatusCode::failed_precondition, "it does not lie in the GPU's memory");
  return {reinterpret_cast<std::byte*>(base), size};
}

/// The handle of an allocation for other processes. The driver gives one for memory of cudaMalloc
/// only.
cudaIpcMemHandle_t handle_of(std::span<std::byte> allocation) {
  cudaIpcMemHandle_t handle{};
  const cudaError_t result = cudaIpcGetMemHandle(&handle, allocation.data());
  if (result == cudaSuccess) return handle;
  static_cast<void>(cudaGetLastError());
  std::ostringstream text;
  text << "its allocation of " << format_bytes({allocation.size()}) << " at "
       << static_cast<const void*>(allocation.data())
       << " is not cudaMalloc's, or of a pool (cudaMallocAsync), or the system forbids CUDA IPC: "
       << "cudaIpcGetMemHandle: " << cudaGetErrorString(result);
  throw Error(StatusCode::failed_precondition, text.str());
}

}  // namespace

CudaMemory::~CudaMemory() {
  static_cast<void>(cudaSetDevice(gpu_));
  for (const auto& [base, opened] : opened_) static_cast<void>(cudaIpcCloseMemHandle(base));
  for (const auto& [base, allocation] : allocations_)
    static_cast<void>(allocation.memory == Device::Memory::own ? cudaFree(base)
                                                               : cudaFreeHost(base));
}

std::byte* CudaMemory::take_spare(std::size_t bytes, Device::Memory memory) {
  auto best = allocations_.end();
  for (auto it = allocations_.begin(); it != allocations_.end(); ++it) {
    const Allocation& one = it->second;
    const bool fits = !one.is_used && one.memory == memory && one.size >= bytes &&
                      one.size / 2 <= bytes;  // at least half of it must be used
    if (fits && (best == allocations_.end() || one.size < best->second.size)) best = it;
  }
  if (best == allocations_.end()) return nullptr;
  best->second.is_used = true;
  return best->first;
}

void CudaMemory::trim() {
  std::erase_if(allocations_, [](const auto& entry) {
    const Allocation& one = entry.second;
    if (one.is_used || one.is_shared || one.memory != Device::Memory::own) return false;
    return cudaFree(entry.first) == cudaSuccess;
  });
}

std::byte* CudaMemory::allocate(std::size_t bytes, Device::Memory memory) {
  const std::size_t size = bytes == 0 ? 1 : bytes;
  const std::lock_guard lock(mutex_);
  if (std::byte* const spare = take_spare(size, memory)) return spare;
  check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
  void* made = nullptr;
  if (memory == Device::Memory::shared) {
    check_cuda(cudaHostAlloc(&made, size, cudaHostAllocMapped | cudaHostAllocPortable),
               "cudaHostAlloc");
  } else if (cudaMalloc(&made, size) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    trim();
    check_cuda(cudaMalloc(&made, size), ("cudaMalloc of " + format_bytes({size})).c_str());
  }
  auto* const base = static_cast<std::byte*>(made);
  allocations_[base] = {.size = size, .memory = memory};
  return base;
}

void CudaMemory::release(std::byte* memory) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto found = allocations_.find(memory); found != allocations_.end())
    found->second.is_used = false;
}

DeviceHandle CudaMemory::share(std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  auto* const first = const_cast<std::byte*>(bytes.data());
  std::span<std::byte> allocation;
  auto after = allocations_.upper_bound(first);
  if (after != allocations_.begin() &&
      first < std::prev(after)->first + std::prev(after)->second.size) {
    --after;
    allocation = {after->first, after->second.size};
    after->second.is_shared = true;
  } else {
    allocation = find_allocation(first);
  }
  check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
  DeviceHandle handle{.offset = static_cast<std::uint64_t>(first - allocation.data())};
  const cudaIpcMemHandle_t of_driver = handle_of(allocation);
  static_assert(sizeof of_driver == sizeof handle.allocation);
  std::memcpy(handle.allocation.data(), &of_driver, sizeof of_driver);
  return handle;
}

std::byte* CudaMemory::open(const DeviceHandle& handle) {
  const std::lock_guard lock(mutex_);
  for (auto& [base, opened] : opened_)
    if (opened.allocation == handle.allocation) {
      ++opened.users;
      return base + handle.offset;
    }
  check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
  cudaIpcMemHandle_t of_driver{};
  std::memcpy(&of_driver, handle.allocation.data(), sizeof of_driver);
  void* made = nullptr;
  if (const cudaError_t result =
          cudaIpcOpenMemHandle(&made, of_driver, cudaIpcMemLazyEnablePeerAccess);
      result != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    throw Error(StatusCode::failed_precondition,
                std::string("GPU ") + std::to_string(gpu_) +
                    " cannot reach the memory of another process: " + cudaGetErrorString(result));
  }
  auto* const base = static_cast<std::byte*>(made);
  opened_[base] = {.allocation = handle.allocation, .users = 1};
  return base + handle.offset;
}

void CudaMemory::close(std::byte* opened) noexcept {
  const std::lock_guard lock(mutex_);
  auto found = opened_.upper_bound(opened);
  if (found == opened_.begin() || --(--found)->second.users > 0) return;
  static_cast<void>(cudaSetDevice(gpu_));
  static_cast<void>(cudaIpcCloseMemHandle(found->first));
  opened_.erase(found);
}

}  // namespace colltune
