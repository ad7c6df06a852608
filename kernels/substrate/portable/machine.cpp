// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "machine.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#include <cstring>
#include <memory>
#include <new>

#include "colltune/kernels/cache.h"
#include "colltune/kernels/isa_names.h"

namespace colltune {
namespace {

std::string machine_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "unknown";
}

}  // namespace

void relax_processor() noexcept { ::sched_yield(); }

void prefetch_for_writing(const std::byte* place) noexcept { __builtin_prefetch(place, 1); }

void evict_from_caches(std::span<const std::byte> bytes) noexcept {
  // More than the last-level caches of today hold; written, so that it is there at all.
  constexpr std::size_t more_than_caches = std::size_t{256} << 20;
  if (bytes.empty()) return;
  const std::unique_ptr<std::byte[]> other(new (std::nothrow) std::byte[more_than_caches]);
  if (other) std::memset(other.get(), 1, more_than_caches);
}

std::vector<std::string> offered_isa_names() {
  std::vector<std::string> names;
#ifdef __aarch64__
  names.emplace_back("neon");  // part of every 64-bit Arm processor that runs Linux
  // The length of this process's SVE vectors; an error where there is no SVE.
  if (const int length = ::prctl(PR_SVE_GET_VL); length > 0)
    names.push_back("sve" + std::to_string(8 * (length & PR_SVE_VL_LEN_MASK)));
#endif
  return names;
}

std::string cpu_architecture() {
  const std::string name = machine_name();
  const std::vector<std::string> isas = isa_names();
  return isas.empty() ? name : name + "-" + isas.back();
}

}  // namespace colltune
