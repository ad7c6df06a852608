// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "colltune/kernels/device.h"
#include "colltune/kernels/operation.h"
#include "colltune/vocabulary/problem.h"

// What a rank does alone between successive collectives. `device` is always where the memory lies;
// null: in host memory.

namespace colltune {

/// Leads from one call's buffers to the next call's: where what lay in the one lies in the other.
class Move {
 public:
  /// Throws Error(invalid_argument) if the sizes differ, or if one is in place as the other is not.
  Move(const CallBuffers& from, const CallBuffers& to);

  /// An address outside the buffers stays.
  [[nodiscard]] std::byte* operator()(std::byte* address) const {
    return address + distance_of(address);
  }
  [[nodiscard]] const std::byte* operator()(const std::byte* address) const {
    return address + distance_of(address);
  }
  template <class Byte>
  [[nodiscard]] std::span<Byte> operator()(std::span<Byte> bytes) const {
    if (bytes.empty()) return bytes;
    return {(*this)(bytes.data()), bytes.size()};
  }
  [[nodiscard]] CallBuffers operator()(const CallBuffers& buffers) const {
    return {(*this)(buffers.send), (*this)(buffers.receive)};
  }

 private:
  [[nodiscard]] std::ptrdiff_t distance_of(const std::byte* address) const;

  CallBuffers from_;
  std::ptrdiff_t send_ = 0;  ///< bytes by which it moves
  std::ptrdiff_t receive_ = 0;
};

/// A prepared list of copies within one rank's memory. Copies that are adjacent on both sides are
/// merged.
class Copies {
 public:
  void add(std::byte* to, const std::byte* from, std::size_t size);
  /// Makes room for so many, and forgets the ones it has.
  void reset(std::size_t most) {
    all_.clear();
    all_.reserve(most);
  }
  void run(Device* device) const;
  void follow(const Move& move);

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
  void follow(const Move& move) { sum_ = move(sum_); }

 private:
  std::span<std::byte> sum_{};
  DataType type_ = DataType::f32;
  int ranks_ = 1;
  std::vector<std::byte> on_host_{};
};

/// Memory between the stages; its address stays the same when more is added.
class StageMemory {
 public:
  /// Zeroed, aligned to a cache line. After `reserve` a part of the reserve, which holds what was
  /// left in it; throws Error(internal) if that is too small.
  [[nodiscard]] std::span<std::byte> add(Bytes size, Device* device);
  /// Allocates what the calls that follow need, so that `add` allocates nothing.
  void reserve(Bytes size, Device* device);
  /// What was taken from the reserve is free for the next call.
  void rewind() noexcept { taken_ = 0; }
  /// What `add` takes of a reserve for `size`.
  [[nodiscard]] static Bytes rounded(Bytes size) {
    return {(size.value + sizeof(Line) - 1) / sizeof(Line) * sizeof(Line)};
  }

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes{};
  };
  std::vector<std::vector<Line>> on_host_{};
  std::vector<DeviceMemory> on_device_{};
  std::span<std::byte> reserve_{};
  bool has_reserve_ = false;
  std::size_t taken_ = 0;  ///< bytes of the reserve
};

}  // namespace colltune
