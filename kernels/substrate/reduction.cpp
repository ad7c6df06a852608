// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/reduction.h"

#include <algorithm>
#include <array>

#include "colltune/vocabulary/error.h"
#include "typed.h"

namespace colltune {
namespace {

// Signed overflow is undefined: integers are combined as unsigned ones, which wrap, and at least as
// wide as unsigned int, since narrower ones would be promoted to int.
template <class T>
using Wrapping = std::make_unsigned_t<std::common_type_t<T, int>>;

struct Sum {
  template <class A>
  static A combine(A a, A b) {
    if constexpr (std::is_integral_v<A>)
      return static_cast<A>(static_cast<Wrapping<A>>(a) + static_cast<Wrapping<A>>(b));
    else
      return a + b;
  }
};
struct Product {
  template <class A>
  static A combine(A a, A b) {
    if constexpr (std::is_integral_v<A>)
      return static_cast<A>(static_cast<Wrapping<A>>(a) * static_cast<Wrapping<A>>(b));
    else
      return a * b;
  }
};
struct Minimum {
  template <class A>
  static A combine(A a, A b) {
    return b < a ? b : a;
  }
};
struct Maximum {
  template <class A>
  static A combine(A a, A b) {
    return a < b ? b : a;
  }
};

template <class A>
A divide(A sum, int ranks) {
  return static_cast<A>(sum / static_cast<std::common_type_t<A, int>>(ranks));
}

// Elements per pass over the sources: the accumulators of the widest type stay in the L1 cache.
constexpr std::size_t block = 1024;

template <class T, class Op>
void reduce_block(std::span<const std::byte* const> sources, std::byte* destination,
                  std::size_t first, std::size_t count, int divisor) {
  using A = Accumulator<T>;
  std::array<A, block> sums;
  const std::size_t offset = first * sizeof(T);
  for (std::size_t i = 0; i < count; ++i) sums[i] = load_element<T>(sources[0] + offset, i);
  for (const std::byte* source : sources.subspan(1))
    for (std::size_t i = 0; i < count; ++i)
      sums[i] = Op::combine(sums[i], load_element<T>(source + offset, i));
  if (divisor != 0)
    for (std::size_t i = 0; i < count; ++i) sums[i] = divide(sums[i], divisor);
  for (std::size_t i = 0; i < count; ++i) store_element<T>(destination + offset, i, sums[i]);
}

template <class Op>
void reduce(std::span<const std::byte* const> sources, std::byte* destination, std::size_t count,
            DataType type, int divisor) {
  with_element_type(type, [&]<class T>(T) {
    for (std::size_t first = 0; first < count; first += block)
      reduce_block<T, Op>(sources, destination, first, std::min(block, count - first), divisor);
  });
}

}  // namespace

void reduce_in_rank_order(std::span<const std::byte* const> sources, std::byte* destination,
                          std::size_t count, const Reduction& reduction) {
  if (sources.empty()) throw Error(StatusCode::internal, "a reduction needs a source");
  switch (reduction.op) {
    case ReduceOp::none:
      throw Error(StatusCode::internal, "reduce op 'none' does not reduce");
    case ReduceOp::sum:
      return reduce<Sum>(sources, destination, count, reduction.type, 0);
    case ReduceOp::prod:
      return reduce<Product>(sources, destination, count, reduction.type, 0);
    case ReduceOp::min:
      return reduce<Minimum>(sources, destination, count, reduction.type, 0);
    case ReduceOp::max:
      return reduce<Maximum>(sources, destination, count, reduction.type, 0);
    case ReduceOp::avg:
      return reduce<Sum>(sources, destination, count, reduction.type, reduction.ranks);
  }
}

void divide_by_ranks(std::byte* data, std::size_t count, DataType type, int ranks) {
  const std::byte* const source = data;
  reduce_in_rank_order({&source, 1}, data, count,
                       {.type = type, .op = ReduceOp::avg, .ranks = ranks});
}

}  // namespace colltune
