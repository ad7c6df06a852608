// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/reduction.h"

#include "colltune/vocabulary/error.h"
#include "isa/isa.h"

namespace colltune {

void reduce_in_rank_order(const Isa& isa, std::span<const std::byte* const> sources,
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

void reduce_in_rank_order(std::span<const std::byte* const> sources, const Destination& destination,
                          const Destination& second, std::size_t count,
                          const Reduction& reduction) {
  static const Isa& widest = *supported_isas().back();
  reduce_in_rank_order(widest, sources, destination, second, count, reduction);
}

void reduce_in_rank_order(std::span<const std::byte* const> sources, std::byte* destination,
                          std::size_t count, const Reduction& reduction) {
  reduce_in_rank_order(sources, {.data = destination}, {}, count, reduction);
}

void divide_by_ranks(std::byte* data, std::size_t count, DataType type, int ranks) {
  const std::byte* const source = data;
  reduce_in_rank_order({&source, 1}, data, count,
                       {.type = type, .op = ReduceOp::avg, .ranks = ranks});
}

void copy_bytes(std::byte* destination, const std::byte* source, std::size_t size, CopyMode mode) {
  static const Isa& widest = *supported_isas().back();
  widest.copy(destination, source, size, mode);
}

}  // namespace colltune
