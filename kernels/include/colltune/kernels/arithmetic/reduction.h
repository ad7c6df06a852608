// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/vocabulary/collective.h"

namespace colltune {

/// How elements of `type` are combined. avg divides by `ranks`, which must then be at least 1.
struct Reduction {
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  int ranks = 1;
};

/// Where results go, and how they are stored.
struct Destination {
  std::byte* data = nullptr;
  CopyMode mode = CopyMode::cached;
};

/// destination[i] = sources[0][i] op sources[1][i] op …, from left to right. Any alignment, any
/// number of sources. The destination may be one of the sources; otherwise it overlaps none of
/// them.
///
/// - 8-bit and 16-bit floating types accumulate in float and round once; integers wrap; avg divides
///   once at the end (integers truncate towards zero).
/// - min and max are `b < a ? b : a` and `a < b ? b : a` of the result so far (a) and the next
///   source (b): of two zeros, and of two values of which one is a NaN, a stays. So a NaN of the
///   first source stays to the end, with its bits (f16 and fp8: with its sign; bf16: made quiet),
///   and a NaN of a later source is ignored.
/// - A NaN that results from sum, prod or avg is written as the positive quiet NaN. Processors
///   differ in which of two NaNs an addition returns and in the sign of a NaN that it creates, and
///   both depend on the order that a compiler gives the operands.
///
/// So the result has the same bits with every instruction set.
/// Throws Error(internal) for ReduceOp::none, without sources, and for an avg over no ranks.
void reduce_in_rank_order(std::span<const std::byte* const> sources, std::byte* destination,
                          std::size_t count, const Reduction& reduction);

/// The same, with the same bits stored twice (for example into this rank's own buffer and a
/// peer's), each in its own mode. Either may be one of the sources; they do not overlap each other.
/// A `second` without data is not written. Stores are aligned for `destination`: give the one there
/// that other cores hold or read. Where these are far, its lines cost most; two_shot of 256 KiB
/// with a program's buffers took 29 us on two far AMD cores with the other order, and 16 with this.
void reduce_in_rank_order(std::span<const std::byte* const> sources, const Destination& destination,
                          const Destination& second, std::size_t count, const Reduction& reduction);

/// destination = a op b.
inline void reduce_two(const std::byte* a, const std::byte* b, const Destination& destination,
                       std::size_t count, const Reduction& reduction) {
  reduce_in_rank_order(std::array{a, b}, destination, {}, count, reduction);
}

/// destination = a op b op c.
inline void reduce_three(const std::byte* a, const std::byte* b, const std::byte* c,
                         const Destination& destination, std::size_t count,
                         const Reduction& reduction) {
  reduce_in_rank_order(std::array{a, b, c}, destination, {}, count, reduction);
}

/// data[i] = data[i] / ranks, rounded once: turns a sum into an avg.
void divide_by_ranks(std::byte* data, std::size_t count, DataType type, int ranks);

}  // namespace colltune
