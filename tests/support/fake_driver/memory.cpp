// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>

#include <fcntl.h>

#include "support/fake_driver/fake_driver.h"

namespace colltune::fake_driver {

State& state() {
  static State of_process;
  return of_process;
}

driver::Result note_call(const char* function) {
  const int number = ++state().calls[function];
  return state().failing == function && number >= state().failing_call ? state().failure
                                                                       : driver::success;
}

driver::Handle add(const Object& object) {
  state().objects[state().next] = object;
  return state().next++;
}

namespace {

bool is_in_granules(std::size_t bytes) { return bytes > 0 && bytes % granule == 0; }

void* at(driver::Address address) { return reinterpret_cast<void*>(address); }

/// Pages that nobody may touch.
bool put_nothing(driver::Address address, std::size_t bytes) {
  return ::mmap(at(address), bytes, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/// How many devices a multicast object still waits for: what its file begins with.
int devices_missing(const Object& object) {
  std::uint64_t counts[2]{};  // devices, and a bit for each that was added
  if (::pread(object.descriptor, counts, sizeof counts, 0) != sizeof counts) return most_devices;
  return static_cast<int>(counts[0]) - __builtin_popcountll(counts[1]);
}

/// What is mapped at `address`.
auto find_mapping(driver::Address address) {
  const auto after = state().mappings.upper_bound(address);
  if (after == state().mappings.begin()) return state().mappings.end();
  const auto found = std::prev(after);
  return address < found->first + found->second.bytes ? found : state().mappings.end();
}
bool is_mapped(driver::Address address, std::size_t bytes) {
  const auto from = state().mappings.lower_bound(address);
  return find_mapping(address) != state().mappings.end() ||
         (from != state().mappings.end() && from->first < address + bytes);
}
bool is_reserved(driver::Address address, std::size_t bytes) {
  const auto after = state().addresses.upper_bound(address);
  if (after == state().addresses.begin() || bytes == 0) return false;
  const auto& [begin, reserved] = *std::prev(after);
  return address - begin <= reserved && bytes <= reserved - (address - begin);
}

}  // namespace
}  // namespace colltune::fake_driver

using namespace colltune::fake_driver;
using colltune::driver::MappingRights;
using colltune::driver::Address;
using colltune::driver::AllocationProperties;
using colltune::driver::Handle;
using colltune::driver::Number;
using colltune::driver::Result;
using colltune::driver::success;

extern "C" {

void fake_driver_fail(const char* function, int nth, int result) {
  const std::lock_guard lock(state().mutex);
  state().failing = function;
  state().failing_call = nth;
  state().failure = result;
  state().calls.clear();
}
void fake_driver_set(int attribute, int value) {
  const std::lock_guard lock(state().mutex);
  state().attributes[attribute] = value;
}
int fake_driver_live() {
  const std::lock_guard lock(state().mutex);
  return static_cast<int>(state().objects.size() + state().addresses.size() +
                          state().mappings.size());
}

Result cuInit(unsigned) {
  const std::lock_guard lock(state().mutex);
  return note_call("cuInit");
}
Result cuGetErrorString(Result result, const char** text) {
  if (result != invalid_value && result != illegal_state) return invalid_value;
  *text = result == invalid_value ? "invalid argument" : "the operation cannot be performed";
  return success;
}
Result cuDeviceGet(Number* device, int ordinal) {
  if (ordinal < 0 || ordinal >= most_devices) return invalid_value;
  *device = ordinal + 40;  // no caller may take one for the other
  return success;
}
Result cuDeviceGetAttribute(int* value, int which, Number) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().attributes.find(which);
  if (found == state().attributes.end()) return invalid_value;
  *value = found->second;
  return success;
}
Result cuMemGetAllocationGranularity(std::size_t* bytes, const AllocationProperties*, int) {
  const std::lock_guard lock(state().mutex);
  *bytes = granule;
  return note_call("cuMemGetAllocationGranularity");
}
Result cuMemCreate(Handle* handle, std::size_t bytes, const AllocationProperties* wanted,
                   unsigned long long flags) {
  const std::lock_guard lock(state().mutex);
  if (const Result failure = note_call("cuMemCreate"); failure != success) return failure;
  if (!is_in_granules(bytes) || flags != 0 ||
      (wanted->handle_types & ~colltune::driver::as_file_descriptor) != 0 ||
      wanted->location.number >= most_devices)
    return invalid_value;
  const int file = ::memfd_create("fake_memory", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0)
    return colltune::driver::out_of_memory;
  *handle = add({.descriptor = file, .bytes = bytes, .handle_types = wanted->handle_types});
  return success;
}
Result cuMemRetainAllocationHandle(Handle* handle, void* address) {
  const std::lock_guard lock(state().mutex);
  if (const Result failure = note_call("cuMemRetainAllocationHandle"); failure != success)
    return failure;
  const auto found = find_mapping(reinterpret_cast<Address>(address));
  if (found == state().mappings.end() || found->second.descriptor < 0) return invalid_value;
  const int copy = ::fcntl(found->second.descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return colltune::driver::out_of_memory;
  *handle = add({.descriptor = copy,
                 .bytes = found->second.bytes,
                 .handle_types = found->second.handle_types});
  return success;
}
Result cuMemGetAllocationPropertiesFromHandle(AllocationProperties* properties, Handle handle) {
  const std::lock_guard lock(state().mutex);
  if (const Result failure = note_call("cuMemGetAllocationPropertiesFromHandle");
      failure != success)
    return failure;
  const auto found = state().objects.find(handle);
  if (found == state().objects.end()) return invalid_value;
  *properties = {.handle_types = found->second.handle_types};
  return success;
}
Result cuMemGetAddressRange_v2(Address* begin, std::size_t* bytes, Address address) {
  const std::lock_guard lock(state().mutex);
  if (const Result failure = note_call("cuMemGetAddressRange"); failure != success) return failure;
  const auto found = find_mapping(address);
  if (found == state().mappings.end()) return invalid_value;
  *begin = found->first;
  *bytes = found->second.bytes;
  return success;
}
Result cuMemRelease(Handle handle) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().objects.find(handle);
  if (found == state().objects.end() || found->second.bindings != 0) return invalid_value;
  ::close(found->second.descriptor);
  state().objects.erase(found);
  return success;
}
Result cuMemExportToShareableHandle(void* descriptor, Handle handle, int type,
                                    unsigned long long flags) {
  const std::lock_guard lock(state().mutex);
  if (const Result failure = note_call("cuMemExportToShareableHandle"); failure != success)
    return failure;
  const auto found = state().objects.find(handle);
  if (found == state().objects.end() || type != colltune::driver::as_file_descriptor ||
      flags != 0 || found->second.handle_types != colltune::driver::as_file_descriptor)
    return invalid_value;
  const int copy = ::fcntl(found->second.descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return invalid_value;
  *static_cast<int*>(descriptor) = copy;
  return success;
}
Result cuMemImportFromShareableHandle(Handle* handle, void* descriptor, int type) {
  const std::lock_guard lock(state().mutex);
  if (const Result failure = note_call("cuMemImportFromShareableHandle"); failure != success)
    return failure;
  const int from = static_cast<int>(reinterpret_cast<std::intptr_t>(descriptor));
  struct ::stat file {};
  if (type != colltune::driver::as_file_descriptor || ::fstat(from, &file) != 0)
    return invalid_value;
  std::error_code ignored;
  const std::string name =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(from), ignored).string();
  const bool is_multicast = name.find("fake_multicast") != std::string::npos;
  if (!is_multicast && name.find("fake_memory") == std::string::npos) return invalid_value;
  const int copy = ::fcntl(from, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return invalid_value;
  *handle = add({.descriptor = copy,
                 .bytes = static_cast<std::size_t>(file.st_size),
                 .is_multicast = is_multicast});
  return success;
}
Result cuMemAddressReserve(Address* address, std::size_t bytes, std::size_t alignment, Address,
                           unsigned long long) {
  const std::lock_guard lock(state().mutex);
  if (const Result failure = note_call("cuMemAddressReserve"); failure != success) return failure;
  if (!is_in_granules(bytes) || alignment % granule != 0) return invalid_value;
  // As much more as alignment may take; the rest is given back at once.
  void* const pages = ::mmap(nullptr, bytes + alignment, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return colltune::driver::out_of_memory;
  const auto begin = reinterpret_cast<Address>(pages);
  const Address first = (begin + alignment - 1) / alignment * alignment;
  if (first > begin) ::munmap(pages, first - begin);
  if (first < begin + alignment) ::munmap(at(first + bytes), begin + alignment - first);
  state().addresses[first] = bytes;
  *address = first;
  return success;
}
Result cuMemAddressFree(Address address, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().addresses.find(address);
  const auto mapped = state().mappings.lower_bound(address);
  if (found == state().addresses.end() || found->second != bytes ||
      (mapped != state().mappings.end() && mapped->first < address + bytes))
    return invalid_value;
  ::munmap(at(address), bytes);
  state().addresses.erase(found);
  return success;
}
Result cuMemMap(Address address, std::size_t bytes, std::size_t offset, Handle handle,
                unsigned long long flags) {
  const std::lock_guard lock(state().mutex);
  if (const Result failure = note_call("cuMemMap"); failure != success) return failure;
  const auto object = state().objects.find(handle);
  if (!is_reserved(address, bytes) || offset != 0 || flags != 0 ||
      object == state().objects.end() || is_mapped(address, bytes))
    return invalid_value;
  // The driver would wait, however long.
  if (object->second.is_multicast && devices_missing(object->second) > 0) return illegal_state;
  if (!object->second.is_multicast && object->second.bytes != bytes) return invalid_value;
  const int file =
      object->second.is_multicast ? -1 : ::fcntl(object->second.descriptor, F_DUPFD_CLOEXEC, 0);
  state().mappings[address] = {
      .bytes = bytes, .descriptor = file, .handle_types = object->second.handle_types};
  return success;
}
Result cuMemUnmap(Address address, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().mappings.find(address);
  if (found == state().mappings.end() || found->second.bytes != bytes ||
      !put_nothing(address, bytes))
    return invalid_value;
  if (found->second.descriptor >= 0) ::close(found->second.descriptor);
  state().mappings.erase(found);
  return success;
}
Result cuMemSetAccess(Address address, std::size_t bytes, const MappingRights* access,
                      std::size_t count) {
  const std::lock_guard lock(state().mutex);
  if (const Result failure = note_call("cuMemSetAccess"); failure != success) return failure;
  const auto found = state().mappings.find(address);
  if (found == state().mappings.end() || found->second.bytes != bytes || count != 1 ||
      access->flags != colltune::driver::read_and_write || access->location.number >= most_devices)
    return invalid_value;
  if (found->second.descriptor < 0) return success;  // the switches' own: no processor reaches it
  return ::mmap(at(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                found->second.descriptor, 0) == MAP_FAILED
             ? colltune::driver::out_of_memory
             : success;
}
}
