// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace colltune {

/// How results are written. Non-temporal stores bypass the caches, for data that this core does not
/// read soon; on processors without them they are ordinary stores. A release store or an atomic
/// does NOT order them: call `fence_non_temporal_stores` before telling another thread or process
/// about the data.
enum class CopyMode { cached, non_temporal };

/// The feature of a rank whose processor has non-temporal stores and whose process may use them.
/// Variants that depend on them are planned only for ranks with this feature.
inline constexpr std::string_view streaming_feature = "memory.streaming";

/// Copies `size` bytes of any alignment. The two ranges must not overlap.
void copy_bytes(std::byte* destination, const std::byte* source, std::size_t size, CopyMode mode);

/// Orders this thread's non-temporal stores before all its later stores. Call it between them and
/// the release store that announces them. Cheap if none are pending (x86-64: sfence).
void fence_non_temporal_stores() noexcept;

}  // namespace colltune
