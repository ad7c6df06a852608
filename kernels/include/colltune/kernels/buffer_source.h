// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "colltune/kernels/device.h"
#include "colltune/vocabulary/bytes.h"

namespace colltune {

/// Memory of a device that a library gave; goes back with it.
class BufferMemory {
 public:
  virtual ~BufferMemory() = default;
  [[nodiscard]] virtual std::span<std::byte> bytes() const = 0;
};

/// Where the buffers of calls must come from that not any memory of the device will do for.
/// Thread-safe; the memory does not outlive it.
class BufferSource {
 public:
  virtual ~BufferSource() = default;
  /// `bytes` of `device`, aligned to pages; the same number on all ranks of a call. Not collective.
  /// Throws Error(resource_exhausted), or what the library says.
  [[nodiscard]] virtual std::unique_ptr<BufferMemory> allocate(Device& device, Bytes bytes) = 0;
};

}  // namespace colltune
