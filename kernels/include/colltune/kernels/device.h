// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "colltune/kernels/device_state.h"
#include "colltune/vocabulary/bytes.h"

namespace colltune {

struct DeviceAlgorithm;
class VirtualMemory;
namespace device {
struct DeviceCall;
}

/// Bytes of a device's memory, as another process can open them.
struct DeviceHandle {
  std::array<std::byte, 64> allocation{};  ///< what the driver calls it
  std::uint64_t offset = 0;                ///< in it
};

/// Blocks of threads of each rank's kernel, and how it is started.
struct DeviceGrid {
  int blocks = 1;
  int threads = 1;
  /// What a call starts is captured once, and replayed as one graph: one submission, however many
  /// kernels and copies. A device without graphs starts them one by one.
  bool replays_graph = false;
  int copy_queues = 1;  ///< on which copies go at the same time, where there are as many
};

/// A kernel for those ranks of this process that share a device: all of them start at once, since
/// kernels that wait for each other must run at the same time. Thread-safe but for `start`.
class DeviceLaunch {
 public:
  virtual ~DeviceLaunch() = default;
  /// Returns at once; not before the last one has ended. Throws Error where the device refuses.
  virtual void start() = 0;
  /// The same on `queue`, somebody else's queue of this device, which may be captured into a graph:
  /// returns at once; neither `has_ended` nor `duration` speak of it. Throws Error where the device
  /// refuses.
  virtual void submit(void* queue) = 0;
  /// Whether what was started has ended. Throws Error where the device reports a fault.
  [[nodiscard]] virtual bool has_ended() = 0;
  /// How long the last one took by the device's clock, after it has ended.
  [[nodiscard]] virtual std::chrono::nanoseconds duration() = 0;
};

/// What a library puts on a device's queue in each call.
class DeviceSubmission {
 public:
  virtual ~DeviceSubmission() = default;
  /// Puts a call on `queue` (of a GPU: the cudaStream_t), or has it put there; never waits.
  virtual void submit(void* queue) = 0;
  /// Whether all of it is on the queue. Throws Error where the library reports one.
  [[nodiscard]] virtual bool is_submitted() = 0;
};

/// What was put on a queue while that was captured: put on queues again as a whole, as often as one
/// likes. One replay at a time.
class DeviceGraph {
 public:
  /// Never waits: what a replay that still runs needs of it stays until that has ended.
  virtual ~DeviceGraph() = default;
  /// Puts all of it on `queue`; returns at once. Throws Error where the device refuses.
  virtual void replay(void* queue) = 0;
};

/// What the buffers of calls lie on where they are not in the host's memory, and what runs kernels
/// there: a GPU (cuda_device.h). Thread-safe; outlives what was made from it. Functions throw Error
/// where the device refuses, with what it said.
class Device {
 public:
  enum class Memory {
    own,     ///< the device's; the host reaches it through read, write and fill
    shared,  ///< the host's and the device's, for words by which they talk
  };

  virtual ~Device() = default;
  [[nodiscard]] virtual std::string architecture() const = 0;  ///< "sm_90"
  /// The piece of hardware: two of one identity share it.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// What it can do, under dotted names: "device.processors" (how many blocks run at once),
  /// "device.whole_lines" (whether 128 bytes that neighbouring threads write at once are seen whole
  /// or not at all: "own" in its own memory, "peers" in that of all devices that it reaches, too),
  /// "device.multicast" (where kernels reach the scratch memory of all ranks at once; else why not,
  /// as "device.multicast.unavailable") and names of its own.
  [[nodiscard]] virtual std::map<std::string, std::string, std::less<>> features() const = 0;
  /// How it runs now; nothing where nobody tells. Takes some microseconds: not for timed regions.
  [[nodiscard]] virtual std::optional<DeviceState> state() const { return {}; }

  /// Of its largest cache; 0: nobody tells.
  [[nodiscard]] virtual Bytes cache_size() const { return {}; }

  /// Aligned to 256 bytes at least. What is released is kept for later allocations as long as a
  /// kernel of a peer might still look at it. Throws Error(resource_exhausted).
  [[nodiscard]] virtual std::byte* allocate(Bytes bytes, Memory memory) = 0;
  virtual void release(std::byte* memory) noexcept = 0;
  // Each returns when it is done.
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void read(std::span<std::byte> to, const std::byte* from) = 0;
  virtual void fill(std::span<std::byte> bytes, unsigned char value) = 0;
  /// Within the device's own memory.
  virtual void copy(std::byte* to, std::span<const std::byte> from) = 0;

  /// `bytes` for other processes: of this class's allocations, or of somebody's own, who lets go of
  /// them after everyone has closed them.
  [[nodiscard]] virtual DeviceHandle share(std::span<const std::byte> bytes) = 0;
  /// What another process shares. Throws Error(failed_precondition) where this device cannot reach
  /// it.
  [[nodiscard]] virtual std::byte* open(const DeviceHandle& handle) = 0;
  virtual void close(std::byte* opened) noexcept = 0;
  /// Memory of it that other devices and processes reach by file descriptors; null: it has none,
  /// and `share` serves. This device's; used by several threads at once.
  [[nodiscard]] virtual VirtualMemory* virtual_memory() { return nullptr; }
  /// `bytes` of the host's memory, as the kernels of all devices of this process address them.
  [[nodiscard]] virtual std::byte* map(std::span<std::byte> bytes) = 0;
  /// The same `bytes`, when no kernel looks at them any more.
  virtual void unmap(std::span<std::byte> bytes) noexcept = 0;
  /// From now on this device's kernels reach the memory of `other`, in this process. Throws
  /// Error(failed_precondition) where they cannot.
  virtual void reach(const Device& other) = 0;

  /// `algorithm` for the ranks of `calls`, each with `grid` blocks of threads. What the calls say
  /// of peers need not outlive this function. Throws Error(resource_exhausted) where they cannot
  /// all run at once.
  [[nodiscard]] virtual std::unique_ptr<DeviceLaunch> make_launch(
      const DeviceAlgorithm& algorithm, std::span<const device::DeviceCall> calls,
      DeviceGrid grid) = 0;
  /// A launch of what a library does, on a queue of its own. `submission` outlives it.
  [[nodiscard]] virtual std::unique_ptr<DeviceLaunch> make_library_launch(
      DeviceSubmission& submission) = 0;
  /// What `put` puts on the queue that it is given, which is captured and runs nothing of it.
  /// Other threads may do it for `put`; it is all there when that returns. Throws what `put`
  /// throws, and Error where the device cannot capture it: nothing is left of it then.
  [[nodiscard]] virtual std::unique_ptr<DeviceGraph> capture(
      const std::function<void(void* queue)>& put) = 0;
  /// Where somebody captures `queue`: `kept` stays as long as their graph, and whatever was made of
  /// it or still runs of it; it may then go on any thread, and must not wait or ask anything of the
  /// device when it does. False, and nothing is kept, where nobody captures it. Throws Error where
  /// the device refuses.
  virtual bool keep_with_capture(void* queue, std::shared_ptr<const void> kept) = 0;
  /// What this thread asks of libraries from now on is meant for this device.
  virtual void make_current() = 0;
};

/// Memory of a device. Moved, not copied.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(Device& device, Bytes bytes, Device::Memory memory = Device::Memory::own)
      : device_(&device),
        bytes_(device.allocate(bytes, memory), static_cast<std::size_t>(bytes.value)) {}
  DeviceMemory(DeviceMemory&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), bytes_(std::exchange(other.bytes_, {})) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory() {
    if (device_ != nullptr) device_->release(bytes_.data());
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  std::span<std::byte> bytes_;
};

}  // namespace colltune
