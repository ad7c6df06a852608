// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "oracle_values.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "colltune/kernels/reduction.h"
#include "typed.h"

namespace colltune {
namespace {

/// integer * 2^exponent: exact in the type it is made for.
struct Value {
  std::int64_t integer = 0;
  int exponent = 0;
};

// splitmix64 (Steele, Lea, Flood 2014): every bit of the result depends on every bit of the input.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

std::uint64_t hash_of(std::size_t position, int who) {
  return mix(mix(position) + static_cast<std::uint64_t>(who));
}

std::int64_t is_odd(std::size_t position) { return static_cast<std::int64_t>(position % 2); }

bool is_unsigned(DataType type) {
  return type == DataType::u8 || type == DataType::u32 || type == DataType::u64;
}

/// What the exactness of a type allows: sums of magnitudes up to `sum` have no rounding and no
/// overflow in any order (floating types: every integer up to 2^significand is exact);
/// `extreme` is even and bounds the values of min and max.
struct Range {
  std::int64_t sum;
  std::int64_t extreme;
  double unit_roundoff;
};
Range range_of(DataType type) {
  switch (type) {
    case DataType::i8:
      return {127, 100, 0};
    case DataType::u8:
      return {255, 100, 0};
    case DataType::i32:
    case DataType::u32:
      return {std::int64_t{1} << 30, 1'000'000, 0};
    case DataType::i64:
    case DataType::u64:
      return {std::int64_t{1} << 62, std::int64_t{1} << 40, 0};
    case DataType::f16:
      return {1 << 11, 1 << 11, 0x1p-11};
    case DataType::bf16:
      return {1 << 8, 1 << 8, 0x1p-8};
    case DataType::f32:
      return {1 << 24, 1'000'000, 0x1p-24};
    case DataType::f64:
      return {std::int64_t{1} << 53, std::int64_t{1} << 40, 0x1p-53};
    case DataType::f8e4m3:
      return {1 << 4, 1 << 4, 0x1p-4};
    case DataType::f8e5m2:
      return {1 << 3, 1 << 3, 0x1p-3};
  }
  return {1, 2, 0};  // not reached: the switch is complete
}

/// How the sum's budget is shared out: the first `contributors` (in an order that turns with the
/// position) hold magnitudes up to `largest` units, the others 0.
struct Shares {
  std::int64_t contributors;
  std::int64_t largest;
  std::int64_t unit;
};
Shares share_out(const VerifiedCall& call) {
  const std::int64_t budget = range_of(call.problem.data_type).sum;
  const std::int64_t ranks = call.ranks;
  // avg: multiples of the rank count, so that the division is exact too, where the type can hold
  // two of them; wide integers keep remainders, to see them truncated.
  const bool is_wide_integer =
      !is_floating(call.problem.data_type) && size_of(call.problem.data_type) > 1;
  const bool divides = call.problem.reduce_op == ReduceOp::avg && !is_wide_integer;
  const std::int64_t unit = divides && budget >= 2 * ranks ? ranks : 1;
  const std::int64_t units = budget / unit;
  const std::int64_t largest = std::max<std::int64_t>(1, units / ranks);
  return {std::min(ranks, units / largest), largest, unit};
}

std::int64_t magnitude_of(const Shares& shares, std::size_t position, std::int64_t contributor) {
  const auto choices = static_cast<std::uint64_t>(shares.largest < 2 ? 2 : shares.largest);
  return static_cast<std::int64_t>(hash_of(position, static_cast<int>(contributor)) % choices);
}

/// The sum's parity is that of the position, so that neighbouring results differ.
Value summand(const VerifiedCall& call, std::size_t position, std::int64_t contributor) {
  const Shares shares = share_out(call);
  if (contributor >= shares.contributors) return {};
  std::int64_t magnitude = magnitude_of(shares, position, contributor);
  if (contributor == 0) {
    std::int64_t parity = is_odd(position);
    for (std::int64_t other = 0; other < shares.contributors; ++other)
      parity ^= magnitude_of(shares, position, other) & 1;
    magnitude ^= parity;
  }
  const bool is_negative = !is_unsigned(call.problem.data_type) &&
                           (hash_of(position, static_cast<int>(contributor)) >> 63) != 0;
  return {(is_negative ? -magnitude : magnitude) * shares.unit, 0};
}

/// Powers of two from at most four ranks (their product is exact in every type), signs from all.
Value factor(const VerifiedCall& call, std::size_t position, std::int64_t contributor) {
  const std::int64_t contributors = std::min(call.ranks, 4);
  const auto exponent_of = [&](std::int64_t who) {
    return static_cast<int>(hash_of(position, static_cast<int>(who)) & 1);
  };
  int exponent = contributor < contributors ? exponent_of(contributor) : 0;
  if (contributor == 0) {
    int parity = static_cast<int>(is_odd(position));
    for (std::int64_t other = 0; other < contributors; ++other) parity ^= exponent_of(other);
    exponent ^= parity;
  }
  const std::uint64_t hash = hash_of(position, static_cast<int>(contributor));
  if (is_floating(call.problem.data_type) && ((hash >> 62) & 1) != 0) exponent = -exponent;
  const bool is_negative = !is_unsigned(call.problem.data_type) && (hash >> 63) != 0;
  return {is_negative ? -1 : 1, exponent};
}

/// One rank, which turns with the position, holds the least value (min), all others larger ones.
Value candidate(const VerifiedCall& call, std::size_t position, std::int64_t contributor) {
  const std::int64_t bound = range_of(call.problem.data_type).extreme;
  const auto hash =
      static_cast<std::int64_t>(hash_of(position, static_cast<int>(contributor)) >> 2);
  const std::int64_t low =
      contributor == 0 ? -1 - (2 * (hash / 2) + is_odd(position)) % bound : hash % bound;
  return {call.problem.reduce_op == ReduceOp::min ? low : -low, 0};
}

/// L + 1 + 1, where L is so large that the type cannot hold L + 1 but L + 2: accumulated in the
/// type, the ones vanish if they come after L.
Value rounding_summand(const VerifiedCall& call, std::size_t position, std::int64_t contributor) {
  const std::int64_t sign = is_odd(position) != 0 ? -1 : 1;
  if (contributor == 0) return {sign * range_of(call.problem.data_type).sum, 0};
  return {contributor <= 2 ? sign : 0, 0};
}

Value value_of(const VerifiedCall& call, int rank, std::size_t position) {
  const std::int64_t contributor =
      (rank + static_cast<std::int64_t>(position)) % static_cast<std::int64_t>(call.ranks);
  if (call.pattern == DataPattern::rounding) return rounding_summand(call, position, contributor);
  switch (call.problem.reduce_op) {
    case ReduceOp::prod:
      return factor(call, position, contributor);
    case ReduceOp::min:
    case ReduceOp::max:
      return candidate(call, position, contributor);
    case ReduceOp::none:
    case ReduceOp::sum:
    case ReduceOp::avg:
      break;
  }
  return summand(call, position, contributor);
}

template <class T>
void store_value(const VerifiedCall& call, std::byte* elements, std::size_t i, Value value) {
  if constexpr (std::is_integral_v<T>) {
    auto bits = static_cast<std::uint64_t>(value.integer) << value.exponent;
    // Unsigned min and max straddle the sign bit: compared as signed ones they come out wrong.
    const bool compares =
        call.problem.reduce_op == ReduceOp::min || call.problem.reduce_op == ReduceOp::max;
    if (std::is_unsigned_v<T> && compares) bits += std::uint64_t{1} << (8 * sizeof(T) - 1);
    store_element<T>(elements, i, static_cast<T>(bits));
  } else {
    const double number = std::ldexp(static_cast<double>(value.integer), value.exponent);
    store_element<T>(elements, i, static_cast<Accumulator<T>>(number));
  }
}

/// Data that is only moved may be any bits; the lowest one alternates.
void write_bits(int rank, std::size_t first, std::span<std::byte> elements, std::size_t size) {
  for (std::size_t i = 0; i < elements.size() / size; ++i) {
    const std::size_t position = (first + i) % pattern_period;
    const std::uint64_t bits = (hash_of(position, rank) & ~std::uint64_t{1}) |
                               static_cast<std::uint64_t>(is_odd(position));
    std::memcpy(elements.data() + i * size, &bits, size);  // little-endian: the low bytes
  }
}

}  // namespace

std::size_t pattern_position(const VerifiedCall& call, std::size_t index) {
  return (index % pattern_period + call.seed % pattern_period) % pattern_period;
}

void write_inputs(const VerifiedCall& call, int rank, std::size_t first,
                  std::span<std::byte> elements) {
  const std::size_t size = size_of(call.problem.data_type);
  if (call.problem.reduce_op == ReduceOp::none) return write_bits(rank, first, elements, size);
  with_element_type(call.problem.data_type, [&]<class T>(T) {
    for (std::size_t i = 0; i < elements.size() / sizeof(T); ++i)
      store_value<T>(call, elements.data(), i, value_of(call, rank, (first + i) % pattern_period));
  });
}

void write_reduced(const VerifiedCall& call, std::size_t first, std::span<std::byte> elements) {
  const std::size_t size = size_of(call.problem.data_type);
  const std::size_t count = elements.size() / size;
  const auto ranks = static_cast<std::size_t>(call.ranks);
  constexpr std::size_t block = 256;  // 2 MiB of inputs at 1024 ranks
  std::vector<std::byte> inputs(ranks * block * size);
  std::vector<const std::byte*> sources(ranks);
  for (std::size_t done = 0; done < count; done += block) {
    const std::size_t now = std::min(block, count - done);
    for (std::size_t r = 0; r < ranks; ++r) {
      sources[r] = inputs.data() + r * block * size;
      write_inputs(call, static_cast<int>(r), first + done,
                   {inputs.data() + r * block * size, now * size});
    }
    reduce_in_rank_order(
        sources, elements.data() + done * size, now,
        {.type = call.problem.data_type, .op = call.problem.reduce_op, .ranks = call.ranks});
  }
}

double number_at(DataType type, const std::byte* at) {
  return with_element_type(type,
                           [&]<class T>(T) { return static_cast<double>(load_element<T>(at, 0)); });
}

double rounding_bound(const VerifiedCall& call, std::size_t position) {
  double magnitudes = 0;
  for (int r = 0; r < call.ranks; ++r) {
    const Value value = value_of(call, r, position);
    magnitudes += std::abs(std::ldexp(static_cast<double>(value.integer), value.exponent));
  }
  const double unit = range_of(call.problem.data_type).unit_roundoff;
  const bool averages = call.problem.reduce_op == ReduceOp::avg;
  const double roundings = averages ? call.ranks + 1 : call.ranks;
  return std::expm1(roundings * std::log1p(unit)) * magnitudes / (averages ? call.ranks : 1);
}

}  // namespace colltune
