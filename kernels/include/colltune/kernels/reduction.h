// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "colltune/vocabulary/collective.h"

namespace colltune {

/// `count` elements of `type`, combined by `op`; avg divides by `ranks`.
struct Reduction {
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  int ranks = 1;
};

/// destination[i] = sources[0][i] op sources[1][i] op …, from left to right. 8-bit and 16-bit
/// floating types accumulate in float and round once; integers wrap; avg divides once at the end
/// (integers truncate towards zero). Any alignment; the destination may be one of the sources.
/// Throws Error(internal) for ReduceOp::none or where there is no source.
void reduce_in_rank_order(std::span<const std::byte* const> sources, std::byte* destination,
                          std::size_t count, const Reduction& reduction);

/// data[i] = data[i] / ranks, rounded once: what makes an avg of a sum.
void divide_by_ranks(std::byte* data, std::size_t count, DataType type, int ranks);

}  // namespace colltune
