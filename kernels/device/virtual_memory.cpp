// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "virtual_memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <numeric>
#include <string>

#include "colltune/kernels/operation.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

std::size_t in_granules(std::uint64_t bytes, std::size_t granule) {
  return (std::max<std::uint64_t>(bytes, 1) + granule - 1) / granule * granule;
}

std::uint64_t& parting_word(const VirtualMemory::MulticastPart& part, int rank) {
  return *reinterpret_cast<std::uint64_t*>(part.parting->part(rank).data());
}

bool have_all_left(const VirtualMemory::MulticastPart& part) {
  for (int rank = 0; rank < part.ranks; ++rank)
    if (std::atomic_ref(parting_word(part, rank)).load() == 0) return false;
  return true;
}

std::string at_address(driver::Address address) {
  std::array<char, 2 + 2 * sizeof address + 1> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", address);
  return text.data();
}

}  // namespace

Descriptor DriverHandle::share() const {
  int descriptor = -1;
  driver_->check(driver_->export_handle(&descriptor, handle_, driver::as_file_descriptor, 0),
                 "cuMemExportToShareableHandle");
  return Descriptor(descriptor);
}

MappedAddress::MappedAddress(std::shared_ptr<const Driver> driver,
                             std::span<const DriverHandle> handles,
                             std::span<const std::size_t> sizes, std::size_t alignment,
                             int device) {
  mapped_.reserve(sizes.size());
  size_ = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  driver->check(driver->reserve(&address_, size_, alignment, 0, 0), "cuMemAddressReserve");
  driver_ = std::move(driver);  // from here on the destructor releases it
  const auto check = [this](driver::Result result, const char* what) {
    if (result == driver::success) return;
    const MappedAddress given_back = std::move(*this);
    given_back.driver_->check(result, what);
  };
  const driver::MappingRights access{.location = {.number = device}};
  driver::Address address = address_;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    check(driver_->map(address, sizes[i], 0, handles[i].get(), 0), "cuMemMap");
    mapped_.push_back(sizes[i]);
    check(driver_->set_access(address, sizes[i], &access, 1), "cuMemSetAccess");
    address += sizes[i];
  }
}

MappedAddress::~MappedAddress() {
  if (!driver_) return;
  driver::Address address = address_;
  for (const std::size_t bytes : mapped_) {
    driver_->report(driver_->unmap(address, bytes), "cuMemUnmap");
    address += bytes;
  }
  driver_->report(driver_->free_address(address_, size_), "cuMemAddressFree");
}

Multicast::~Multicast() {
  address_ = {};
  if (is_bound_)
    driver_->report(driver_->multicast_unbind(handle_.get(), device_, 0, size_),
                    "cuMulticastUnbind");
}

void Multicast::add_device() {
  driver_->check(driver_->multicast_add(handle_.get(), device_), "cuMulticastAddDevice");
}

void Multicast::bind(const MappedMemory& memory) {
  driver_->check(driver_->multicast_bind(handle_.get(), 0, memory.handle.get(), 0, size_, 0),
                 "cuMulticastBindMem");
  is_bound_ = true;
}

std::byte* Multicast::map() {
  address_ = MappedAddress(driver_, handle_, size_, granularity_, ordinal_);
  return address_.bytes().data();
}

std::unique_ptr<VirtualMemory> VirtualMemory::open(int ordinal, std::string& why_not,
                                                   const char* library) {
  std::shared_ptr<const Driver> driver = Driver::open(library, why_not);
  if (!driver) return nullptr;
  driver::Number device = 0;
  if (const auto result = driver->get_device(&device, ordinal); result != driver::success) {
    why_not = "cuDeviceGet: " + driver->name_of(result);
    return nullptr;
  }
  if (driver->attribute(device, driver::has_virtual_memory) == 0) {
    why_not = "the GPU has no virtual memory of the driver's";
    return nullptr;
  }
  if (driver->attribute(device, driver::has_file_descriptors) == 0) {
    why_not = driver->attribute(device, driver::has_fabric_handles) != 0
                  ? "the GPU shares its memory by fabric handles alone, not by file descriptors"
                  : "the GPU does not share its memory by file descriptors";
    return nullptr;
  }
  std::unique_ptr<VirtualMemory> memory(new VirtualMemory(driver, device, ordinal));
  try {
    const auto properties = memory->properties();
    driver->check(
        driver->get_granularity(&memory->granularity_, &properties, driver::least_granularity),
        "cuMemGetAllocationGranularity");
    // Containers may forbid what the attributes report, so one granule is shared and mapped to test
    // it.
    const MappedMemory granule = memory->create(memory->granularity_);
    static_cast<void>(memory->open_shared(granule.handle.share(), memory->granularity_));
  } catch (const Error& error) {
    why_not = error.what();
    return nullptr;
  }
  if (!driver->knows_multicast())
    memory->why_no_multicast_ = "the CUDA driver is older than multicast objects (530)";
  else if (driver->attribute(device, driver::has_multicast) == 0)
    memory->why_no_multicast_ = "the GPU has no NVLink switches that spread and add up";
  return memory;
}

std::size_t VirtualMemory::multicast_granularity(int devices, std::size_t bytes) const {
  if (!why_no_multicast_.empty()) throw Error(StatusCode::failed_precondition, why_no_multicast_);
  const driver::MulticastProperties wanted{.devices = static_cast<unsigned>(devices),
                                           .bytes = bytes};
  std::size_t granule = 0;
  driver_->check(driver_->multicast_granularity(&granule, &wanted, driver::least_granularity),
                 "cuMulticastGetGranularity");
  return granule;
}

std::size_t VirtualMemory::size_for(std::uint64_t bytes, int devices) const {
  const std::size_t size = in_granules(bytes, granularity_);
  if (devices == 0) return size;
  // Both granularities are powers of two.
  return in_granules(size, std::max(granularity_, multicast_granularity(devices, size)));
}

MappedMemory VirtualMemory::create(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(kept_, have_all_left);
  }
  const auto wanted = properties();
  driver::Handle made = 0;
  driver_->check(driver_->create(&made, bytes, &wanted, 0),
                 ("cuMemCreate of " + format_bytes({bytes})).c_str());
  DriverHandle handle(driver_, made);
  MappedAddress address(driver_, handle, bytes, granularity_, ordinal_);
  return {std::move(handle), std::move(address)};
}

DriverHandle VirtualMemory::import(const Descriptor& descriptor) const {
  driver::Handle made = 0;
  // The driver takes the descriptor's value in place of a pointer.
  auto* const as_pointer = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor.get()));
  driver_->check(driver_->import_handle(&made, as_pointer, driver::as_file_descriptor),
                 "cuMemImportFromShareableHandle");
  return {driver_, made};
}

MappedMemory VirtualMemory::open_shared(const Descriptor& descriptor, std::size_t bytes) const {
  DriverHandle handle = import(descriptor);
  MappedAddress address(driver_, handle, bytes, granularity_, ordinal_);
  return {std::move(handle), std::move(address)};
}

std::optional<SharedPieces> VirtualMemory::share_foreign(std::span<const std::byte> bytes,
                                                         std::size_t most) const {
  SharedPieces shared;
  auto next = reinterpret_cast<driver::Address>(bytes.data());
  const driver::Address end = next + bytes.size();
  while (next < end) {
    driver::Handle kept = 0;
    if (driver_->retain(&kept, reinterpret_cast<void*>(next)) != driver::success) {
      if (shared.sizes.empty()) return std::nullopt;
      throw UnavailableHere("behind " + at_address(next) + " nothing is mapped, or no memory of " +
                            "the driver's virtual memory");
    }
    const DriverHandle handle(driver_, kept);
    driver::Address begin = 0;
    std::size_t size = 0;
    driver_->check(driver_->get_range(&begin, &size, next), "cuMemGetAddressRange");
    const std::string named = "its allocation of " + format_bytes({size}) + " at " +
                              at_address(begin) + ", of the driver's virtual memory, ";
    driver::AllocationProperties properties{};
    driver_->check(driver_->get_properties(&properties, handle.get()),
                   "cuMemGetAllocationPropertiesFromHandle");
    if ((properties.handle_types & driver::as_file_descriptor) == 0)
      throw UnavailableHere(named + "was made without file descriptors for other processes " +
                            "(handle types " + std::to_string(properties.handle_types) + ")");
    if (shared.sizes.empty()) shared.offset = static_cast<std::size_t>(next - begin);
    try {
      shared.descriptors.push_back(handle.share());
    } catch (const Error& error) {
      throw UnavailableHere(named + "gives no file descriptor: " + error.what());
    }
    shared.sizes.push_back(size);
    if (shared.sizes.size() > most)
      throw UnavailableHere("it lies in more than " + std::to_string(most) +
                            " allocations of the driver's virtual memory");
    next = begin + size;
  }
  return shared;
}

MappedMemory VirtualMemory::open_pieces(std::span<const Descriptor> descriptors,
                                        std::span<const std::size_t> sizes) const {
  // Mappings keep the memory after its handles are released.
  std::vector<DriverHandle> handles;
  for (const Descriptor& one : descriptors) handles.push_back(import(one));
  return {{}, MappedAddress(driver_, handles, sizes, granularity_, ordinal_)};
}

std::unique_ptr<Multicast> VirtualMemory::create_multicast(int devices, std::size_t bytes) const {
  const std::size_t granule = multicast_granularity(devices, bytes);
  const driver::MulticastProperties wanted{.devices = static_cast<unsigned>(devices),
                                           .bytes = bytes};
  driver::Handle made = 0;
  driver_->check(
      driver_->multicast_create(&made, &wanted),
      ("cuMulticastCreate of " + format_bytes({bytes}) + " on " + std::to_string(devices) + " GPUs")
          .c_str());
  return std::make_unique<Multicast>(driver_, DriverHandle(driver_, made), device_, ordinal_, bytes,
                                     granule);
}

std::unique_ptr<Multicast> VirtualMemory::open_multicast(const Descriptor& descriptor, int devices,
                                                         std::size_t bytes) const {
  const std::size_t granule = multicast_granularity(devices, bytes);
  return std::make_unique<Multicast>(driver_, import(descriptor), device_, ordinal_, bytes,
                                     granule);
}

void VirtualMemory::leave(MulticastPart part) {
  std::atomic_ref(parting_word(part, part.rank)).store(1);
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(part));
  std::erase_if(kept_, have_all_left);
}

std::size_t VirtualMemory::count_kept() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

}  // namespace colltune
