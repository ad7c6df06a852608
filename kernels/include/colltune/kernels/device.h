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
#include "colltune/vocabulary/error.h"

namespace colltune {

struct DeviceAlgorithm;
class VirtualMemory;
namespace device {
struct DeviceCall;
}

/// Bytes of a device's memory, in a form that another process can open.
struct DeviceHandle {
  std::array<std::byte, 64> allocation{};  ///< the driver's handle
  std::uint64_t offset = 0;                ///< within the allocation
};

/// The thread blocks of each rank's kernel, and how it is started.
struct DeviceGrid {
  int blocks = 1;
  int threads = 1;
  /// A call is captured once and replayed as one graph: one submission, however many kernels and
  /// copies it has. A device without graphs starts them one by one.
  bool replays_graph = false;
  int copy_queues = 1;  ///< for concurrent copies, if the device has that many
  /// Other calls follow (DeviceLaunch::rebind), which may need other kernels: all are made ready.
  bool is_rebound = false;
};

/// A kernel for all ranks of this process that share a device. All of them start at once, since
/// kernels that wait for each other must run at the same time. Thread-safe except for `start`.
class DeviceLaunch {
 public:
  virtual ~DeviceLaunch() = default;
  /// The starts from now on use these buffers for the rank whose call is number `index` of those
  /// that the launch was made for; they are as large as its buffers were. Not between a start and
  /// its end. Several threads may call this at once, each for an `index` of its own. Throws
  /// Error(failed_precondition) if the launch keeps its buffers, as a captured graph does.
  virtual void bind(std::size_t index, const std::byte* send, std::byte* receive);
  /// The same for another call: its size, root, type and operator, and the rank's buffers. What
  /// else `call` has is not looked at, since the memory and the settings stay. All ranks of the
  /// launch do so before the same start, alike but for their buffers. Throws
  /// Error(failed_precondition) if the launch keeps its call.
  virtual void rebind(std::size_t index, const device::DeviceCall& call);
  /// Returns at once. Call it only after the previous start has ended. Throws Error if the device
  /// refuses.
  virtual void start() = 0;
  /// The same on `queue`, a queue of this device that the caller owns and may be capturing into a
  /// graph. Returns at once; `has_ended` and `duration` do not cover it. Throws Error if the device
  /// refuses.
  virtual void submit(void* queue) = 0;
  /// Whether the last start has ended. Throws Error if the device reports a fault.
  [[nodiscard]] virtual bool has_ended() = 0;
  /// Duration of the last start by the device's clock; call it after the end.
  [[nodiscard]] virtual std::chrono::nanoseconds duration() = 0;
};

inline void DeviceLaunch::bind(std::size_t, const std::byte*, std::byte*) {
  throw Error(StatusCode::failed_precondition, "this launch keeps the buffers it was made for");
}

inline void DeviceLaunch::rebind(std::size_t, const device::DeviceCall&) {
  throw Error(StatusCode::failed_precondition, "this launch keeps the call it was made for");
}

/// What a library puts on a device's queue in each call.
class DeviceSubmission {
 public:
  virtual ~DeviceSubmission() = default;
  /// Puts a call on `queue` (of a GPU: the cudaStream_t), or lets another thread do so; never
  /// waits.
  virtual void submit(void* queue) = 0;
  /// Whether all of it is on the queue. Throws Error if the library reports one.
  [[nodiscard]] virtual bool is_submitted() = 0;
};

/// Work that was captured from a queue and can be put on queues again as a whole, any number of
/// times. One replay at a time.
class DeviceGraph {
 public:
  /// Never waits: what a running replay still needs stays until that replay has ended.
  virtual ~DeviceGraph() = default;
  /// Puts all of it on `queue`; returns at once. Throws Error if the device refuses.
  virtual void replay(void* queue) = 0;
};

/// What a device is.
struct DeviceFacts {
  std::string architecture{};  ///< "sm_90"
  /// Identifies the hardware: two devices with the same identity are the same hardware.
  std::string identity{};
  /// Its features, under dotted names: "device.processors" (how many blocks run at once),
  /// "device.whole_lines" (whether 128 bytes that neighbouring threads write at once are seen whole
  /// or not at all: "own" in its own memory, "peers" also in the memory of all devices that it
  /// reaches), "device.multicast" (kernels reach the scratch memory of all ranks at once; if not,
  /// "device.multicast.unavailable" says why) and names of its own.
  std::map<std::string, std::string, std::less<>> features{};
  Bytes cache_size{};  ///< of its largest cache; 0: unknown
};

/// A GPU (cuda_device.h): holds the buffers of calls that are not in host memory, and runs kernels
/// on them. Thread-safe; outlives everything made from it. Functions throw Error with the device's
/// message if it refuses.
class Device {
 public:
  enum class Memory {
    own,     ///< device memory; the host accesses it through read, write and fill
    shared,  ///< accessible to host and device, for words by which they communicate
  };

  virtual ~Device() = default;
  /// What it is, which does not change. Throws Error if it cannot say.
  [[nodiscard]] virtual DeviceFacts facts() const = 0;
  /// Its present state; nothing if it cannot be read. Takes some microseconds: not for timed
  /// regions.
  [[nodiscard]] virtual std::optional<DeviceState> state() const { return {}; }

  /// Aligned to at least 256 bytes. Released memory is kept for later allocations as long as a
  /// kernel of a peer may still read it. Throws Error(resource_exhausted).
  [[nodiscard]] virtual std::byte* allocate(Bytes bytes, Memory memory) = 0;
  virtual void release(std::byte* memory) noexcept = 0;
  // These return when the transfer is complete.
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void read(std::span<std::byte> to, const std::byte* from) = 0;
  virtual void fill(std::span<std::byte> bytes, unsigned char value) = 0;
  /// Within the device's own memory.
  virtual void copy(std::byte* to, std::span<const std::byte> from) = 0;

  /// Makes `bytes` available to other processes. They are an allocation of this class, or memory of
  /// the caller, who frees it only after every process has closed it.
  [[nodiscard]] virtual DeviceHandle share(std::span<const std::byte> bytes) = 0;
  /// Opens what another process shares. Throws Error(failed_precondition) if this device cannot
  /// reach it.
  [[nodiscard]] virtual std::byte* open(const DeviceHandle& handle) = 0;
  virtual void close(std::byte* opened) noexcept = 0;
  /// Memory that other devices and processes open by file descriptor; null: the device has none,
  /// use `share`. Owned by this device; several threads may use it at once.
  [[nodiscard]] virtual VirtualMemory* virtual_memory() { return nullptr; }
  /// The address at which kernels of all devices of this process reach `bytes` of host memory.
  [[nodiscard]] virtual std::byte* map(std::span<std::byte> bytes) = 0;
  /// Undoes `map` for the same `bytes`. Call it when no kernel accesses them any more.
  virtual void unmap(std::span<std::byte> bytes) noexcept = 0;
  /// Lets this device's kernels access the memory of `other`, in this process, from now on. Throws
  /// Error(failed_precondition) if they cannot.
  virtual void reach(const Device& other) = 0;

  /// A kernel launch of `algorithm` for the ranks of `calls`, each with `grid` thread blocks. What
  /// the calls say about peers need not outlive this function. Throws Error(resource_exhausted) if
  /// they cannot all run at once.
  [[nodiscard]] virtual std::unique_ptr<DeviceLaunch> make_launch(
      const DeviceAlgorithm& algorithm, std::span<const device::DeviceCall> calls,
      DeviceGrid grid) = 0;
  /// A launch of a library's work, on a queue of its own. `submission` outlives it.
  [[nodiscard]] virtual std::unique_ptr<DeviceLaunch> make_library_launch(
      DeviceSubmission& submission) = 0;
  /// Captures what `put` puts on the queue that it receives; none of it runs. Other threads may do
  /// the work for `put`, but it must be complete when `put` returns. Throws what `put` throws, and
  /// Error if the device cannot capture it; then nothing of it remains.
  [[nodiscard]] virtual std::unique_ptr<DeviceGraph> capture(
      const std::function<void(void* queue)>& put) = 0;
  /// If `queue` is being captured: keeps `kept` as long as the graph and anything made from it or
  /// still running from it. `kept` may be destroyed on any thread; its destructor must not wait or
  /// call the device. Returns false, and keeps nothing, if `queue` is not being captured. Throws
  /// Error if the device refuses.
  virtual bool keep_with_capture(void* queue, std::shared_ptr<const void> kept) = 0;
  /// Library calls that this thread makes from now on use this device.
  virtual void make_current() = 0;
};

/// Memory of a device. Movable, not copyable.
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
