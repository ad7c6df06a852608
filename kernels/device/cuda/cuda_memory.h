// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <span>

#include "colltune/kernels/device.h"

namespace colltune {

/// A GPU's allocations, and the memory of other processes that it has opened. Thread-safe.
///
/// Released memory is kept for the next allocation. The driver must not free memory that a peer's
/// kernel may still access or that another process has open, and freeing waits for all work on the
/// GPU.
class CudaMemory {
 public:
  explicit CudaMemory(int gpu) : gpu_(gpu) {}
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  ~CudaMemory();

  [[nodiscard]] std::byte* allocate(std::size_t bytes, Device::Memory memory);
  void release(std::byte* memory) noexcept;
  [[nodiscard]] DeviceHandle share(std::span<const std::byte> bytes);
  [[nodiscard]] std::byte* open(const DeviceHandle& handle);
  void close(std::byte* opened) noexcept;

 private:
  struct Allocation {
    std::size_t size = 0;
    Device::Memory memory = Device::Memory::own;
    bool is_shared = false;  ///< with other processes
    bool is_used = true;
  };
  struct Opened {
    std::array<std::byte, 64> allocation{};
    int users = 0;
  };

  [[nodiscard]] std::byte* take_spare(std::size_t bytes, Device::Memory memory);
  /// Frees all memory that is neither in use nor shared with other processes.
  void trim();

  int gpu_;
  std::mutex mutex_;
  std::map<std::byte*, Allocation> allocations_;  ///< guarded by mutex_
  std::map<std::byte*, Opened> opened_;           ///< by their first byte; guarded by mutex_
};

}  // namespace colltune
