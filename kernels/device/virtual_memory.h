// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "colltune/kernels/communicator.h"
#include "colltune/machine/descriptor.h"
#include "colltune/vocabulary/bytes.h"
#include "driver.h"

namespace colltune {

/// The driver's handle of an allocation or a multicast object; released with this object.
class DriverHandle {
 public:
  DriverHandle() = default;
  DriverHandle(std::shared_ptr<const Driver> driver, driver::Handle handle)
      : driver_(std::move(driver)), handle_(handle) {}
  DriverHandle(DriverHandle&& other) noexcept = default;
  DriverHandle& operator=(DriverHandle&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~DriverHandle() {
    if (driver_) driver_->report(driver_->release(handle_), "cuMemRelease");
  }
  [[nodiscard]] driver::Handle get() const { return handle_; }
  /// A file descriptor of it for another process. Throws Error(failed_precondition).
  [[nodiscard]] Descriptor share() const;

 private:
  std::shared_ptr<const Driver> driver_;
  driver::Handle handle_ = 0;
};

/// An address of this process at which one device's kernels access the memory of one handle, or of
/// several in sequence. Unmapped and freed with this object. Move-only.
class MappedAddress {
 public:
  MappedAddress() = default;
  /// Maps all `bytes` of `handle`. Throws Error.
  MappedAddress(std::shared_ptr<const Driver> driver, const DriverHandle& handle, std::size_t bytes,
                std::size_t alignment, int device)
      : MappedAddress(std::move(driver), {&handle, 1}, {&bytes, 1}, alignment, device) {}
  /// Maps `sizes[i]` bytes of each of `handles`.
  MappedAddress(std::shared_ptr<const Driver> driver, std::span<const DriverHandle> handles,
                std::span<const std::size_t> sizes, std::size_t alignment, int device);
  MappedAddress(MappedAddress&& other) noexcept = default;
  MappedAddress& operator=(MappedAddress&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }
  ~MappedAddress();
  [[nodiscard]] std::span<std::byte> bytes() const {
    return {reinterpret_cast<std::byte*>(address_), size_};
  }

 private:
  std::shared_ptr<const Driver> driver_;
  driver::Address address_ = 0;
  std::size_t size_ = 0;
  std::vector<std::size_t> mapped_;  ///< the size of each
};

/// Memory of a device at an address of this process. The destructor unmaps the address, then
/// releases the handle; by then nothing that this process runs may access the memory. The memory
/// itself stays as long as any process has it mapped.
struct MappedMemory {
  DriverHandle handle;
  MappedAddress address;

  [[nodiscard]] std::span<std::byte> bytes() const { return address.bytes(); }
};

/// Memory of several devices under one address, as one of those devices has it, with its own memory
/// bound. All devices must be added before any binds, or functions of the driver would block. The
/// destructor releases the address, then the binding, then the handle.
class Multicast {
 public:
  Multicast(std::shared_ptr<const Driver> driver, DriverHandle handle, driver::Number device,
            int ordinal, std::size_t bytes, std::size_t granularity)
      : driver_(std::move(driver)),
        handle_(std::move(handle)),
        device_(device),
        ordinal_(ordinal),
        size_(bytes),
        granularity_(granularity) {}
  Multicast(const Multicast&) = delete;
  Multicast& operator=(const Multicast&) = delete;
  ~Multicast();

  [[nodiscard]] Descriptor share() const { return handle_.share(); }
  // Call these in this order; each throws Error.
  void add_device();
  /// Binds all of `memory`, which outlives this object and has the same size.
  void bind(const MappedMemory& memory);
  /// The address of all devices' memory. Use it only after all of them have bound theirs.
  [[nodiscard]] std::byte* map();

 private:
  std::shared_ptr<const Driver> driver_;
  DriverHandle handle_;
  driver::Number device_;
  int ordinal_;
  std::size_t size_;
  std::size_t granularity_;
  bool is_bound_ = false;
  MappedAddress address_;
};

/// Memory of another allocator as file descriptors, one per piece that it was mapped from.
struct SharedPieces {
  std::vector<Descriptor> descriptors;
  std::vector<std::size_t> sizes;
  std::size_t offset = 0;  ///< offset of the bytes in the first piece
};

/// A device's memory that other devices and other processes of the node map by a file descriptor,
/// which one process passes to another (descriptor_mailbox.h). Uses the driver's virtual memory,
/// where physical memory, addresses and access rights are made separately, in whole granules.
/// (Fabric handles, by which GPUs of several nodes reach each other, are not used: no launch runs
/// our kernels across nodes.) Thread-safe.
class VirtualMemory {
 public:
  /// The virtual memory of device `ordinal`. Null, with the reason in `why_not`, if the device or
  /// its driver does not offer it, or if a granule cannot be shared and opened again.
  [[nodiscard]] static std::unique_ptr<VirtualMemory> open(
      int ordinal, std::string& why_not, const char* library = cuda_driver_library);

  /// Why its memory cannot join a multicast object; empty if it can.
  [[nodiscard]] const std::string& why_no_multicast() const { return why_no_multicast_; }

  /// The size to allocate for `bytes`, in whole granules; large enough for a multicast object if
  /// `devices` is not 0.
  [[nodiscard]] std::size_t size_for(std::uint64_t bytes, int devices = 0) const;
  // These throw Error: resource_exhausted for memory, otherwise failed_precondition.
  /// New memory of this device; `bytes` is a result of size_for.
  [[nodiscard]] MappedMemory create(std::size_t bytes);
  /// Maps the memory behind `descriptor`, of `bytes` bytes, for this device's kernels.
  [[nodiscard]] MappedMemory open_shared(const Descriptor& descriptor, std::size_t bytes) const;
  /// Shares `bytes`, which another allocator made of the driver's virtual memory, with other
  /// devices and processes. Nothing if they are not virtual memory but cudaMalloc's. Throws
  /// UnavailableHere if their allocation allows no file descriptors, or if there are more than
  /// `most`.
  [[nodiscard]] std::optional<SharedPieces> share_foreign(std::span<const std::byte> bytes,
                                                          std::size_t most) const;
  /// Maps the pieces behind `descriptors`, of the given sizes, in sequence for this device's
  /// kernels.
  [[nodiscard]] MappedMemory open_pieces(std::span<const Descriptor> descriptors,
                                         std::span<const std::size_t> sizes) const;
  /// Makes a multicast object of `devices` with `bytes` each, a result of size_for.
  [[nodiscard]] std::unique_ptr<Multicast> create_multicast(int devices, std::size_t bytes) const;
  [[nodiscard]] std::unique_ptr<Multicast> open_multicast(const Descriptor& descriptor, int devices,
                                                          std::size_t bytes) const;

  /// This rank's part of a multicast object, and how its ranks tell each other that they have left.
  struct MulticastPart {
    MappedMemory memory;  ///< this device's own; released last
    std::unique_ptr<Multicast> multicast;
    std::shared_ptr<SymmetricMemory> parting;  ///< one word per rank, 0 until it has left
    int rank = 0;
    int ranks = 0;
  };
  /// Records that this rank has left. Other ranks' kernels may still access its part, so it is kept
  /// until all have left or this object ends. Checked whenever memory is made or left.
  void leave(MulticastPart part);
  /// Number of parts that are kept.
  [[nodiscard]] std::size_t count_kept() const;

 private:
  VirtualMemory(std::shared_ptr<const Driver> driver, driver::Number device, int ordinal)
      : driver_(std::move(driver)), device_(device), ordinal_(ordinal) {}
  [[nodiscard]] driver::AllocationProperties properties() const {
    return {.location = {.number = ordinal_}};
  }
  [[nodiscard]] std::size_t multicast_granularity(int devices, std::size_t bytes) const;
  [[nodiscard]] DriverHandle import(const Descriptor& descriptor) const;

  std::shared_ptr<const Driver> driver_;
  driver::Number device_;
  int ordinal_;
  std::size_t granularity_ = 0;
  std::string why_no_multicast_;
  mutable std::mutex mutex_;
  std::vector<MulticastPart> kept_;  ///< guarded by mutex_
};

}  // namespace colltune
