// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace colltune {

/// How results are written. Non-temporal stores go past the caches, for data that nobody on this
/// core reads soon; where the processor has none, they are ordinary ones. They are NOT ordered by
/// a release store or an atomic: whoever tells another thread or process about the data calls
/// `fence_non_temporal_stores` first.
enum class CopyMode { cached, non_temporal };

/// Copies `size` bytes; any alignment; the two must not overlap.
void copy_bytes(std::byte* destination, const std::byte* source, std::size_t size, CopyMode mode);

/// Orders this thread's non-temporal stores before all its later stores: to be called between them
/// and the release store that announces them. Cheap where none are pending (x86-64: sfence).
void fence_non_temporal_stores() noexcept;

}  // namespace colltune
