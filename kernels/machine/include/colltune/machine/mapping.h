// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "colltune/vocabulary/bytes.h"

namespace colltune {

/// Pages mapped into this process, aligned to 2 MiB; unmapped with the object.
class Mapping {
 public:
  static constexpr std::size_t alignment = std::size_t{2} << 20;

  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  /// Zeroed private pages, touched by the caller. Throws Error(resource_exhausted).
  [[nodiscard]] static Mapping anonymous(Bytes bytes);
  /// The first `bytes` of the file `descriptor`, shared. Throws Error(resource_exhausted).
  [[nodiscard]] static Mapping shared(int descriptor, Bytes bytes);

  /// Allocates missing pages and enters all pages into this process's page tables. Returns 0 or an
  /// errno value: ENOMEM if memory has run out, EINVAL if the system has no such call (Linux before
  /// 5.14). In that case the first access to each page costs a fault, which would fall into the
  /// first calls, and into measurements of algorithms that take long to cycle through their
  /// buffers.
  int fill_page_tables() const noexcept;

  /// Leaves the pages out of child processes, which must not touch what the ranks share.
  void keep_from_children() const noexcept;

  [[nodiscard]] std::span<std::byte> bytes() const { return {start_, size_}; }

 private:
  Mapping(std::byte* start, std::size_t size) : start_(start), size_(size) {}
  static Mapping at_aligned_address(Bytes bytes, int flags, int descriptor);

  std::byte* start_ = nullptr;
  std::size_t size_ = 0;
};

/// An anonymous file in memory with `bytes` zeroed pages that are already allocated, on the NUMA
/// node of the caller's core; closed with the object. Throws Error(resource_exhausted).
class MemoryFile {
 public:
  explicit MemoryFile(Bytes bytes);
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Throws Error(resource_exhausted) if `bytes` exceed the memory that this process can get now. The
/// kernel would grant the pages and kill some process when they are touched.
void require_free_memory(Bytes bytes);

}  // namespace colltune
