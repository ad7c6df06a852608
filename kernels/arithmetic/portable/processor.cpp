// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "arithmetic/processor.h"

#include <sys/utsname.h>

#include <cstring>
#include <memory>
#include <new>

#include "colltune/kernels/arithmetic/cache.h"
#include "colltune/kernels/arithmetic/isa_names.h"

namespace colltune {
namespace {

std::string machine_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "unknown";
}

}  // namespace

void prefetch_for_writing(const std::byte* place) noexcept { __builtin_prefetch(place, 1); }

void prefetch_for_reading(const std::byte* place) noexcept { __builtin_prefetch(place); }

void evict_from_caches(std::span<const std::byte> bytes) noexcept {
  // Larger than the last-level caches of today. Written, so that the pages really exist.
  constexpr std::size_t more_than_caches = std::size_t{256} << 20;
  if (bytes.empty()) return;
  const std::unique_ptr<std::byte[]> other(new (std::nothrow) std::byte[more_than_caches]);
  if (other) std::memset(other.get(), 1, more_than_caches);
}

std::string cpu_architecture() {
  const std::string name = machine_name();
  const std::vector<std::string> isas = isa_names();
  return isas.empty() ? name : name + "-" + isas.back();
}

}  // namespace colltune
