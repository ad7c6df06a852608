// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "colltune/vocabulary/bytes.h"

namespace colltune {

/// The keys of a configuration that name what is measured; at least one must be there.
inline constexpr std::array<std::string_view, 2> keys_of_products{"collectives", "meshes"};
inline constexpr std::string_view key_of_calls = "calls";
/// The keys that belong to the product of lists alone, and mean nothing without it.
inline constexpr std::array<std::string_view, 10> keys_of_the_lists{
    "sizes",    "types",      "ops",           "worlds", "partial_worlds",
    "in_place", "registered", "graph_capture", "counts", "holdout_sizes"};

/// Limit on a message: 1 TiB. What a sweep computes from a size, times the number of ranks or of
/// buffers, then stays far below 2^63.
inline constexpr Bytes largest_size{std::uint64_t{1} << 40U};
/// The largest weight of a call, as in the schema.
inline constexpr double most_weight = 1e18;

}  // namespace colltune
