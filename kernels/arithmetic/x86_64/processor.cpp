// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "arithmetic/processor.h"

#include <cpuid.h>

#include <algorithm>

#include "colltune/kernels/arithmetic/cache.h"
#include "colltune/kernels/arithmetic/isa_names.h"

namespace colltune {

void relax_processor() noexcept { __builtin_ia32_pause(); }

void prefetch_for_writing(const std::byte* place) noexcept {
  // As assembly: the builtin becomes a prefetch for reading unless the compiler is told that the
  // processor has prefetchw. Processors without it treat it as a nop.
  asm volatile("prefetchw %0" : : "m"(*place));
}

void prefetch_for_reading(const std::byte* place) noexcept {
  asm volatile("prefetcht0 %0" : : "m"(*place));
}

void evict_from_caches(std::span<const std::byte> bytes) noexcept {
  constexpr std::size_t line = 64;
  for (std::size_t at = 0; at < bytes.size(); at += line) __builtin_ia32_clflush(&bytes[at]);
  if (!bytes.empty()) __builtin_ia32_clflush(&bytes.back());
  __builtin_ia32_mfence();
}

namespace {

/// Not every compiler's __builtin_cpu_supports knows this name.
bool has_f16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __builtin_cpu_supports("avx") != 0 && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 &&
         (ecx & bit_F16C) != 0;
}

}  // namespace

std::vector<std::string> offered_isa_names() {
  // __builtin_cpu_supports takes only literals; it checks cpuid and the register state that the
  // operating system saves.
  std::vector<std::string> names;
  const auto add = [&names](bool has, const char* name) {
    if (has) names.emplace_back(name);
  };
  names.emplace_back("sse2");  // part of every x86-64 processor
  __builtin_cpu_init();
  add(__builtin_cpu_supports("sse4.2") != 0, "sse4_2");
  add(__builtin_cpu_supports("avx") != 0, "avx");
  add(__builtin_cpu_supports("avx2") != 0, "avx2");
  add(__builtin_cpu_supports("fma") != 0, "fma");
  add(has_f16c(), "f16c");
  add(__builtin_cpu_supports("avx512f") != 0, "avx512f");
  add(__builtin_cpu_supports("avx512bw") != 0, "avx512bw");
  add(__builtin_cpu_supports("avx512dq") != 0, "avx512dq");
  add(__builtin_cpu_supports("avx512vl") != 0, "avx512vl");
  add(__builtin_cpu_supports("avx512bf16") != 0, "avx512_bf16");
  return names;
}

std::string cpu_architecture() {
  const std::vector<std::string> names = isa_names();
  const auto has = [&names](const char* name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (!has("avx2")) return "x86_64";
  return has("avx512f") && has("avx512bw") && has("avx512vl") ? "x86_64-avx512" : "x86_64-avx2";
}

}  // namespace colltune
