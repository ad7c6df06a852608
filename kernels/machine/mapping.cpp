// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/machine/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fcntl.h>

#include "colltune/machine/control_groups.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

[[noreturn]] void fail(const char* call, Bytes bytes, int error) {
  throw Error(StatusCode::resource_exhausted,
              std::string(call) + " of " + format_bytes(bytes) +
                  " of symmetric memory failed: " + std::strerror(error));
}

/// Requests huge pages (a hint: on systems that do not grant them it does nothing).
void prefer_huge_pages(std::span<std::byte> pages) {
  if (pages.size() >= Mapping::alignment) ::madvise(pages.data(), pages.size(), MADV_HUGEPAGE);
}

/// Allocates all pages of the file now: at first touch, lack of memory would mean SIGBUS. Returns
/// an errno value.
int make_pages(int descriptor, Bytes bytes) {
  // Through a mapping, because fallocate does not use huge pages.
  const int error = Mapping::shared(descriptor, bytes).fill_page_tables();
  if (error != EINVAL) return error;
  return ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes.value));
}

}  // namespace

void require_free_memory(Bytes bytes) {
  const Bytes available = available_memory();
  if (bytes <= available) return;
  throw Error(StatusCode::resource_exhausted, format_bytes(bytes) +
                                                  " of symmetric memory do not fit into the " +
                                                  format_bytes(available) + " that are free");
}

Mapping::Mapping(Mapping&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (start_ != nullptr) ::munmap(start_, std::max<std::size_t>(size_, 1));
}

Mapping Mapping::at_aligned_address(Bytes bytes, int flags, int descriptor) {
  // Reserve enough address space to contain an aligned address, map over it and release the rest.
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t length = std::max<std::size_t>((bytes.value + page - 1) / page * page, page);
  void* reserved = ::mmap(nullptr, length + alignment, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) fail("reserving addresses", bytes, errno);
  const auto first = reinterpret_cast<std::uintptr_t>(reserved);
  const std::uintptr_t start = (first + alignment - 1) / alignment * alignment;
  if (start != first) ::munmap(reserved, start - first);
  auto* const pages = reinterpret_cast<std::byte*>(start);
  const std::size_t behind = first + alignment - start;
  if (behind != 0) ::munmap(pages + length, behind);
  if (::mmap(pages, length, PROT_READ | PROT_WRITE, flags | MAP_FIXED, descriptor, 0) ==
      MAP_FAILED) {
    const int error = errno;
    ::munmap(pages, length);
    fail("mapping", bytes, error);
  }
  return {pages, bytes.value};
}

Mapping Mapping::anonymous(Bytes bytes) {
  require_free_memory(bytes);
  Mapping mapping = at_aligned_address(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  prefer_huge_pages(mapping.bytes());
  // The first touch decides the NUMA node of each page.
  const int error = mapping.fill_page_tables();
  if (error == EINVAL)
    std::memset(mapping.start_, 0, mapping.size_);
  else if (error != 0)
    fail("making the pages", bytes, error);
  return mapping;
}

Mapping Mapping::shared(int descriptor, Bytes bytes) {
  Mapping mapping = at_aligned_address(bytes, MAP_SHARED, descriptor);
  prefer_huge_pages(mapping.bytes());
  return mapping;
}

int Mapping::fill_page_tables() const noexcept {
#ifdef MADV_POPULATE_WRITE
  if (::madvise(start_, size_, MADV_POPULATE_WRITE) == 0) return 0;
  return errno == EFAULT ? ENOMEM : errno;
#else
  return EINVAL;
#endif
}

void Mapping::keep_from_children() const noexcept { ::madvise(start_, size_, MADV_DONTFORK); }

MemoryFile::MemoryFile(Bytes bytes) : descriptor_(-1) {
  require_free_memory(bytes);
  descriptor_ = ::memfd_create("colltune", MFD_CLOEXEC);
  if (descriptor_ < 0) fail("memfd_create", bytes, errno);
  const Bytes length{std::max<std::uint64_t>(bytes.value, 1)};
  const int error = ::ftruncate(descriptor_, static_cast<off_t>(length.value)) == 0
                        ? make_pages(descriptor_, length)
                        : errno;
  if (error == 0) return;
  ::close(descriptor_);
  fail("making the pages", bytes, error);
}

MemoryFile::~MemoryFile() { ::close(descriptor_); }

}  // namespace colltune
