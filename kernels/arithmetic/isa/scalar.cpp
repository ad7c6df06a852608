// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The reductions over single elements: the reference for tests of the vector bodies, and the only
// body on processors without vector instructions.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "arithmetic/typed.h"
#include "isa.h"
#include "operations.h"

namespace colltune {
namespace {

template <class A>
A divide(A sum, int ranks) {
  return static_cast<A>(sum / static_cast<std::common_type_t<A, int>>(ranks));
}

/// Elements per pass over the sources: few enough that accumulators of the widest type stay in the
/// L1 cache.
constexpr std::size_t block = 1024;

template <class T, class Op>
void reduce_block(const ReduceCall& call, std::size_t first, std::size_t count) {
  using A = Accumulator<T>;
  A sums[block];
  const std::size_t offset = first * sizeof(T);
  for (std::size_t i = 0; i < count; ++i) sums[i] = load_element<T>(call.sources[0] + offset, i);
  for (std::size_t source = 1; source < call.number_of_sources; ++source)
    for (std::size_t i = 0; i < count; ++i)
      sums[i] = Op::combine(sums[i], load_element<T>(call.sources[source] + offset, i));
  if constexpr (!Op::selects) {
    if (call.reduction.op == ReduceOp::avg)
      for (std::size_t i = 0; i < count; ++i) sums[i] = divide(sums[i], call.reduction.ranks);
    if constexpr (std::is_floating_point_v<A>)
      for (std::size_t i = 0; i < count; ++i)
        sums[i] = std::isnan(sums[i]) ? std::numeric_limits<A>::quiet_NaN() : sums[i];
  }
  for (std::size_t i = 0; i < count; ++i)
    store_element<T>(call.destination.data + offset, i, sums[i]);
  if (call.second.data != nullptr)
    std::memcpy(call.second.data + offset, call.destination.data + offset, count * sizeof(T));
}

void reduce(const ReduceCall& call) noexcept {
  with_element_type(call.reduction.type, [&]<class T>(T) {
    with_operation(call.reduction.op, [&]<class Op>(Op) {
      for (std::size_t first = 0; first < call.count; first += block)
        reduce_block<T, Op>(call, first, std::min(block, call.count - first));
    });
  });
}

void copy(std::byte* destination, const std::byte* source, std::size_t size, CopyMode) noexcept {
  if (size > 0) std::memcpy(destination, source, size);
}

}  // namespace

extern constexpr Isa scalar_isa{.name = "scalar",
                                .needs = {},
                                .vector_bytes = 0,
                                .streams = false,
                                .reduce = reduce,
                                .copy = copy};

}  // namespace colltune
