// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace colltune {

/// Tells the processor that this is a spin loop.
void relax_processor() noexcept;
/// Asks for the cache line at `place` to be this core's own, before it is written.
void prefetch_for_writing(const std::byte* place) noexcept;
/// "x86_64-avx512", "x86_64-avx2", "x86_64", "aarch64-neon", "aarch64-sve256": the
/// word that decisions are keyed by. Of isa_names().
[[nodiscard]] std::string cpu_architecture();

}  // namespace colltune
