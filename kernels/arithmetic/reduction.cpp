// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/arithmetic/reduction.h"

#include "arithmetic/isa/isa.h"
#include "colltune/vocabulary/error.h"

namespace colltune {

namespace {

/// The best instruction set of this processor. Determined once.
const Isa& widest_isa() {
  static const Isa& widest = *supported_isas().back();
  return widest;
}

// Inlined: for 8 bytes the sum itself takes less time than a few calls.
[[gnu::always_inline]] inline void reduce(const Isa& isa, std::span<const std::byte* const> sources,
                                          const Destination& destination, const Destination& second,
                                          std::size_t count, const Reduction& reduction) {
  if (sources.empty()) throw Error(StatusCode::internal, "a reduction needs a source");
  if (reduction.op == ReduceOp::none)
    throw Error(StatusCode::internal, "reduce op 'none' does not reduce");
  if (reduction.op == ReduceOp::avg && reduction.ranks < 1)
    throw Error(StatusCode::internal, "an average needs at least one rank");
  isa.reduce({.sources = sources.data(),
              .number_of_sources = sources.size(),
              .destination = destination,
              .second = second,
              .count = count,
              .reduction = reduction});
}

}  // namespace

void reduce_in_rank_order(const Isa& isa, std::span<const std::byte* const> sources,
                          const Destination& destination, const Destination& second,
                          std::size_t count, const Reduction& reduction) {
  reduce(isa, sources, destination, second, count, reduction);
}

void reduce_in_rank_order(std::span<const std::byte* const> sources, const Destination& destination,
                          const Destination& second, std::size_t count,
                          const Reduction& reduction) {
  reduce(widest_isa(), sources, destination, second, count, reduction);
}

void reduce_in_rank_order(std::span<const std::byte* const> sources, std::byte* destination,
                          std::size_t count, const Reduction& reduction) {
  reduce(widest_isa(), sources, {.data = destination}, {}, count, reduction);
}

void divide_by_ranks(std::byte* data, std::size_t count, DataType type, int ranks) {
  const std::byte* const source = data;
  reduce_in_rank_order({&source, 1}, data, count,
                       {.type = type, .op = ReduceOp::avg, .ranks = ranks});
}

void copy_bytes(std::byte* destination, const std::byte* source, std::size_t size, CopyMode mode) {
  widest_isa().copy(destination, source, size, mode);
}

}  // namespace colltune
