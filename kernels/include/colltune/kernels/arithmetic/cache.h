// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace colltune {

/// Writes the bytes back to memory and drops them from all caches. Uses the processor's flush
/// instruction if programs may use it (x86-64: clflush); otherwise writes more of other memory than
/// caches hold, which evicts the bytes.
void evict_from_caches(std::span<const std::byte> bytes) noexcept;

}  // namespace colltune
