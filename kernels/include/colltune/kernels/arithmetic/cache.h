// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace colltune {

/// Writes the bytes back to memory and drops them from all caches, where the processor lets a
/// program do that (x86-64: clflush); elsewhere it reads other memory until they are gone.
void evict_from_caches(std::span<const std::byte> bytes) noexcept;

}  // namespace colltune
