// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace colltune {

/// Tells the processor that this is a spin loop.
void relax_processor() noexcept;
/// Prefetches the cache line at `place` for writing (in exclusive state).
void prefetch_for_writing(const std::byte* place) noexcept;
/// Prefetches the cache line at `place` for reading. Not inline: compilers leave out calls of a
/// function in which they see nothing but a prefetch.
void prefetch_for_reading(const std::byte* place) noexcept;
/// "x86_64-avx512", "x86_64-avx2", "x86_64", "aarch64-neon", "aarch64-sve256": the architecture
/// under which decisions are filed. Derived from isa_names().
[[nodiscard]] std::string cpu_architecture();

}  // namespace colltune
