// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "colltune/kernels/device.h"
#include "colltune/vocabulary/problem.h"

// What a rank does by itself between the collectives that it calls one after the other. `device`,
// wherever it is given: where the memory lies; null: the host's.

namespace colltune {

/// Copies within one rank's memory, written down beforehand: what follows one another on both sides
/// is one.
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

/// A sum of all ranks' values that becomes their average where it lies.
class Division {
 public:
  Division() = default;
  Division(std::span<std::byte> sum, DataType type, int ranks, Device* device);
  /// On a device by way of the host's memory, which this has as much of.
  void run(Device* device);

 private:
  std::span<std::byte> sum_{};
  DataType type_ = DataType::f32;
  int ranks_ = 1;
  std::vector<std::byte> on_host_{};
};

/// What lies between the steps; stays where it is when more is added.
class StepMemory {
 public:
  /// Zeroed, from the start of a cache line.
  [[nodiscard]] std::span<std::byte> add(Bytes size, Device* device);

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes{};
  };
  std::vector<std::vector<Line>> on_host_{};
  std::vector<DeviceMemory> on_device_{};
};

}  // namespace colltune
