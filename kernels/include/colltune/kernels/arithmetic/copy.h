// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace colltune {

/// How results are written. Non-temporal stores go past the caches, for data that nobody on this
/// core reads soon; where the processor has none, they are ordinary ones. They are NOT ordered by
/// a release store or an atomic: whoever tells another thread or process about the data calls
/// `fence_non_temporal_stores` first.
enum class CopyMode { cached, non_temporal };

/// The feature of a rank whose processor has non-temporal stores, and whose process may use them:
/// without it nothing that depends on them is planned.
inline constexpr std::string_view streaming_feature = "memory.streaming";

/// Copies `size` bytes; any alignment; the two must not overlap.
void copy_bytes(std::byte* destination, const std::byte* source, std::size_t size, CopyMode mode);

/// Orders this thread's non-temporal stores before all its later stores: to be called between them
/// and the release store that announces them. Cheap where none are pending (x86-64: sfence).
void fence_non_temporal_stores() noexcept;

}  // namespace colltune
