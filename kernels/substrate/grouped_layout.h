// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "colltune/kernels/device.h"
#include "grouped_groups.h"

namespace colltune {

/// Copies within one rank's memory, written down beforehand: what follows one another on both sides
/// is one.
class Copies {
 public:
  void add(std::byte* to, const std::byte* from, std::size_t size);
  /// `device`: where both sides lie; null: in the host's memory.
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
  /// `device`: where the sum lies; null: in the host's memory.
  Division(std::span<std::byte> sum, DataType type, int ranks, Device* device);
  /// On a device by way of the host's memory, which this has as much of.
  void run(Device* device);

 private:
  std::span<std::byte> sum_{};
  DataType type_ = DataType::f32;
  int ranks_ = 1;
  std::vector<std::byte> on_host_{};
};

/// Where one rank's data lies in each step of a collective by groups, and what it copies before.
/// Steps that this rank has no part in have no buffers; their copies are its own all the same.
struct GroupedLayout {
  struct Step {
    Copies copies{};
    CallBuffers buffers{};
  };
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes{};
  };

  Step before{};
  Step bridge{};
  Division division{};  ///< behind the bridge, on leaders where the collective averages
  Step after{};
  // What lies between, in the host's memory or on a device; holds zeros where nothing is put.
  std::vector<std::vector<Line>> memory{};
  std::vector<DeviceMemory> on_device{};
};

/// That of `rank`. `call.buffers` are those of the rank; `device` is where they lie, null: in the
/// host's memory.
[[nodiscard]] GroupedLayout make_grouped_layout(const Call& call, const Groups& groups, int rank,
                                                Device* device);

}  // namespace colltune
