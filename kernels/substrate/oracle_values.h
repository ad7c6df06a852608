// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "colltune/kernels/oracle.h"

namespace colltune {

/// Every rank's data repeats after so many elements: a prime, so that blocks and chunks, which
/// people cut at powers of two, never hold the same data at the same place.
inline constexpr std::size_t pattern_period = 4093;

/// Where in the period element `index` of a stream lies.
[[nodiscard]] std::size_t pattern_position(const VerifiedCall& call, std::size_t index);

/// Writes what `rank` holds at the positions from `first` on, going round at the period, into
/// `elements` (whole elements).
void write_inputs(const VerifiedCall& call, int rank, std::size_t first,
                  std::span<std::byte> elements);

/// Writes what all ranks' elements at these positions reduce to.
void write_reduced(const VerifiedCall& call, std::size_t first, std::span<std::byte> elements);

/// How far a result at `position` may lie from the exact one where a variant rounds at each step:
/// the usual bound ((1 + u)^ranks - 1) * sum |x|, where u is half the distance of 1 to the next
/// number (avg: a division more, and all divided by ranks).
[[nodiscard]] double rounding_bound(const VerifiedCall& call, std::size_t position);

/// The number that the element at `at` stands for.
[[nodiscard]] double number_at(DataType type, const std::byte* at);

}  // namespace colltune
