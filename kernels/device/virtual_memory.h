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

/// What the driver calls an allocation or a multicast object; released with the object.
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
  /// For another process. Throws Error(failed_precondition).
  [[nodiscard]] Descriptor share() const;

 private:
  std::shared_ptr<const Driver> driver_;
  driver::Handle handle_ = 0;
};

/// An address of this process at which one device's kernels reach what a handle stands for, or
/// several, one behind the other; unmapped and given back with the object. Moved, not copied.
class MappedAddress {
 public:
  MappedAddress() = default;
  /// All `bytes` of `handle`. Throws Error.
  MappedAddress(std::shared_ptr<const Driver> driver, const DriverHandle& handle, std::size_t bytes,
                std::size_t alignment, int device)
      : MappedAddress(std::move(driver), {&handle, 1}, {&bytes, 1}, alignment, device) {}
  /// All `sizes` bytes of each of `handles`.
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

/// Memory of a device at an address of this process. At its end the address goes, then the handle;
/// nothing that this process runs may look at it any more. The memory itself stays as long as
/// anybody has it mapped.
struct MappedMemory {
  DriverHandle handle;
  MappedAddress address;

  [[nodiscard]] std::span<std::byte> bytes() const { return address.bytes(); }
};

/// Memory of several devices under one address, as one of them has it: its own memory is bound to
/// it. All devices are added before any binds: functions of the driver would block. At its end the
/// address goes, then what is bound, then the handle.
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
  // In this order; each throws Error.
  void add_device();
  /// All of `memory`, which outlives this and is as large as this.
  void bind(const MappedMemory& memory);
  /// The address of all devices' memory; all of them have bound theirs when it is used.
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

/// Somebody else's memory as file descriptors: in the pieces that it was mapped of.
struct SharedPieces {
  std::vector<Descriptor> descriptors;
  std::vector<std::size_t> sizes;
  std::size_t offset = 0;  ///< of the bytes that are meant, in the first piece
};

/// A device's memory that other devices and other processes of the node map by a file descriptor,
/// which a process passes to another one (descriptor_mailbox.h). Of the driver's virtual memory:
/// physical memory, addresses, and who may look there are made one by one, in whole granules.
/// (Fabric handles, by which GPUs of several nodes reach each other, are not taken: no launch runs
/// our kernels across nodes.) Thread-safe.
class VirtualMemory {
 public:
  /// That of device `ordinal`; null where the device or its driver does not offer it, or where a
  /// granule that was shared does not come back: `why_not` says it.
  [[nodiscard]] static std::unique_ptr<VirtualMemory> open(
      int ordinal, std::string& why_not, const char* library = cuda_driver_library);

  /// Why its memory cannot be one with that of other devices; empty: it can.
  [[nodiscard]] const std::string& why_no_multicast() const { return why_no_multicast_; }

  /// At least `bytes`, in whole granules; of a multicast object of `devices`, if there are any.
  [[nodiscard]] std::size_t size_for(std::uint64_t bytes, int devices = 0) const;
  // They throw Error: resource_exhausted for memory, failed_precondition for all else.
  /// New memory of this device, of a size_for.
  [[nodiscard]] MappedMemory create(std::size_t bytes);
  /// The memory behind `descriptor`, which is `bytes` large, for this device's kernels.
  [[nodiscard]] MappedMemory open_shared(const Descriptor& descriptor, std::size_t bytes) const;
  /// `bytes`, which an allocator other than this made of the driver's virtual memory, for other
  /// devices and processes. Nothing where they are none, but cudaMalloc's. Throws UnavailableHere
  /// where their allocation allows no file descriptors, or with more than `most_pieces`.
  [[nodiscard]] std::optional<SharedPieces> share_foreign(std::span<const std::byte> bytes,
                                                          std::size_t most_pieces) const;
  /// The pieces behind `descriptors`, so large, one behind the other, for this device's kernels.
  [[nodiscard]] MappedMemory open_pieces(std::span<const Descriptor> descriptors,
                                         std::span<const std::size_t> sizes) const;
  /// A multicast object of `devices`, each with `bytes`; of a size_for.
  [[nodiscard]] std::unique_ptr<Multicast> create_multicast(int devices, std::size_t bytes) const;
  [[nodiscard]] std::unique_ptr<Multicast> open_multicast(const Descriptor& descriptor, int devices,
                                                          std::size_t bytes) const;

  /// This rank's part of a multicast object, and how its ranks tell each other that they have left.
  struct MulticastPart {
    MappedMemory memory;  ///< this device's own; goes last
    std::unique_ptr<Multicast> multicast;
    std::shared_ptr<SymmetricMemory> parting;  ///< a word of each rank, 0 until it has left
    int rank = 0;
    int ranks = 0;
  };
  /// This rank has left; the others' kernels may still look at its part. So it is kept until all
  /// have left, or this object goes: looked at whenever memory is made or left.
  void leave(MulticastPart part);
  /// Parts that are kept.
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
