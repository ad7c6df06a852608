// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/device.h"

namespace colltune {

/// All ranks' scratch memory in host memory, mapped for the devices of this process; for devices
/// that cannot reach each other. There is one per process, and the last kernel launch that uses it
/// releases it.
class HostScratch {
 public:
  /// `device`: any of this process. Each rank's part of `memory` has `bytes` bytes. Throws Error if
  /// the device refuses one of them; then none is mapped.
  HostScratch(Device& device, std::unique_ptr<SymmetricMemory> memory, int ranks,
              std::uint64_t bytes)
      : device_(device), memory_(std::move(memory)) {
    // Reserved first, so that recording a mapping cannot fail.
    mapped_.reserve(static_cast<std::size_t>(ranks));
    parts_.reserve(static_cast<std::size_t>(ranks));
    try {
      for (int rank = 0; rank < ranks; ++rank) {
        const std::span<std::byte> part = memory_->part(rank).first(bytes);
        mapped_.push_back(device.map(part));
        parts_.push_back(part);
      }
    } catch (...) {
      unmap();
      throw;
    }
  }
  HostScratch(const HostScratch&) = delete;
  HostScratch& operator=(const HostScratch&) = delete;
  ~HostScratch() { unmap(); }
  [[nodiscard]] std::byte* of(int rank) const { return mapped_[static_cast<std::size_t>(rank)]; }

 private:
  void unmap() noexcept {
    for (const std::span<std::byte> part : parts_) device_.unmap(part);
  }

  Device& device_;
  std::unique_ptr<SymmetricMemory> memory_;
  std::vector<std::span<std::byte>> parts_;  ///< the parts mapped so far
  std::vector<std::byte*> mapped_;           ///< address of each rank's part
};

}  // namespace colltune
