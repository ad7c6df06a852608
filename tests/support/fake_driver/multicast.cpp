// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Multicast objects: a file in memory that says how many devices there are and which were added.
// Their addresses are nobody's memory: only switches would make something of them.

#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/fake_driver/fake_driver.h"

using namespace colltune::fake_driver;
using colltune::driver::Handle;
using colltune::driver::MulticastProperties;
using colltune::driver::Number;
using colltune::driver::Result;
using colltune::driver::success;

namespace {

Object* find_multicast(Handle handle) {
  const auto found = state().objects.find(handle);
  return found != state().objects.end() && found->second.is_multicast ? &found->second : nullptr;
}

}  // namespace

extern "C" {

Result cuMulticastGetGranularity(std::size_t* bytes, const MulticastProperties* wanted, int) {
  const std::lock_guard lock(state().mutex);
  if (wanted->devices == 0) return invalid_value;
  *bytes = multicast_granule;
  return note_call("cuMulticastGetGranularity");
}
Result cuMulticastCreate(Handle* handle, const MulticastProperties* wanted) {
  const std::lock_guard lock(state().mutex);
  if (const Result failure = note_call("cuMulticastCreate"); failure != success) return failure;
  if (wanted->bytes == 0 || wanted->bytes % multicast_granule != 0 || wanted->devices < 2 ||
      wanted->handle_types != colltune::driver::as_file_descriptor)
    return invalid_value;
  const int file = ::memfd_create("fake_multicast", MFD_CLOEXEC);
  const std::uint64_t counts[2]{wanted->devices, 0};
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(wanted->bytes)) != 0 ||
      ::pwrite(file, counts, sizeof counts, 0) != sizeof counts)
    return colltune::driver::out_of_memory;
  *handle = add({.descriptor = file, .bytes = wanted->bytes, .is_multicast = true});
  return success;
}
Result cuMulticastAddDevice(Handle handle, Number device) {
  const std::lock_guard lock(state().mutex);
  if (const Result failure = note_call("cuMulticastAddDevice"); failure != success) return failure;
  const Object* const object = find_multicast(handle);
  if (object == nullptr) return invalid_value;
  // Another process may add another device at the same time.
  if (::lockf(object->descriptor, F_LOCK, 0) != 0) return illegal_state;
  std::uint64_t counts[2]{};
  const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(device % 64);
  bool is_added = ::pread(object->descriptor, counts, sizeof counts, 0) == sizeof counts &&
                  (counts[1] & bit) == 0 &&
                  static_cast<unsigned>(__builtin_popcountll(counts[1])) < counts[0];
  counts[1] |= bit;
  is_added = is_added && ::pwrite(object->descriptor, counts, sizeof counts, 0) == sizeof counts;
  static_cast<void>(::lockf(object->descriptor, F_ULOCK, 0));
  return is_added ? success : invalid_value;
}
Result cuMulticastBindMem(Handle handle, std::size_t offset, Handle memory,
                          std::size_t memory_offset, std::size_t bytes, unsigned long long flags) {
  const std::lock_guard lock(state().mutex);
  if (const Result failure = note_call("cuMulticastBindMem"); failure != success) return failure;
  Object* const object = find_multicast(handle);
  const auto bound = state().objects.find(memory);
  if (object == nullptr || bound == state().objects.end() || bound->second.is_multicast ||
      offset != 0 || memory_offset != 0 || flags != 0 || bytes % multicast_granule != 0 ||
      bytes > object->bytes || bytes > bound->second.bytes)
    return invalid_value;
  std::uint64_t counts[2]{};
  if (::pread(object->descriptor, counts, sizeof counts, 0) != sizeof counts) return illegal_state;
  // The driver would wait, however long.
  if (static_cast<unsigned>(__builtin_popcountll(counts[1])) < counts[0]) return illegal_state;
  ++object->bindings;
  return success;
}
Result cuMulticastUnbind(Handle handle, Number, std::size_t offset, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  Object* const object = find_multicast(handle);
  if (object == nullptr || object->bindings == 0 || offset != 0 || bytes != object->bytes)
    return invalid_value;
  --object->bindings;
  return success;
}
}
