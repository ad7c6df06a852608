// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace colltune {

/// Tells the processor that this is a spin loop.
void relax_processor() noexcept;
/// Asks for the cache line at `place` to be this core's own, before it is written.
void prefetch_for_writing(const std::byte* place) noexcept;
/// Names of the instruction sets that this processor and operating system offer, of those that
/// kernels may dispatch on: "avx2", "avx512f", …
[[nodiscard]] std::vector<std::string> isa_names();
/// "x86_64-avx512", "x86_64-avx2", "x86_64", "aarch64-neon", "aarch64-sve256": the
/// word that decisions are keyed by.
[[nodiscard]] std::string cpu_architecture();

}  // namespace colltune
