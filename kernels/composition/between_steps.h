// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "colltune/kernels/device.h"
#include "colltune/vocabulary/problem.h"

// What a rank does alone between successive collectives. `device` is always where the memory lies;
// null: in host memory.

namespace colltune {

/// A prepared list of copies within one rank's memory. Copies that are adjacent on both sides are
/// merged.
class Copies {
 public:
  void add(std::byte* to, const std::byte* from, std::size_t size);
  void run(Device* device) const;

 private:
  struct One {
    std::byte* to;
    const std::byte* from;
    std::size_t size;
  };
  std::vector<One> all_;
};

/// Turns a sum over all ranks into their average, in place.
class Division {
 public:
  Division() = default;
  Division(std::span<std::byte> sum, DataType type, int ranks, Device* device);
  /// On a device the data goes through host memory of the same size, which this object owns.
  void run(Device* device);

 private:
  std::span<std::byte> sum_{};
  DataType type_ = DataType::f32;
  int ranks_ = 1;
  std::vector<std::byte> on_host_{};
};

/// Memory between the steps; its address stays the same when more is added.
class StepMemory {
 public:
  /// Zeroed, aligned to a cache line.
  [[nodiscard]] std::span<std::byte> add(Bytes size, Device* device);

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes{};
  };
  std::vector<std::vector<Line>> on_host_{};
  std::vector<DeviceMemory> on_device_{};
};

}  // namespace colltune
