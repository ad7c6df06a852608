// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "oracle_values.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "arithmetic/typed.h"
#include "colltune/kernels/arithmetic/reduction.h"

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

/// Limits within which a type is exact: sums of magnitudes up to `sum` have no rounding and no
/// overflow in any order (floating types: every integer up to 2^significand is exact); `extreme` is
/// even and bounds the values of min and max.
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

/// How the sum's budget is divided: the first `contributors` ranks (in an order that rotates with
/// the position) hold magnitudes up to `largest` units, the others 0.
struct Shares {
  std::int64_t contributors;
  std::int64_t largest;
  std::int64_t unit;
};
Shares share_out(const ValueSource& source) {
  const std::int64_t budget = range_of(source.type).sum;
  const std::int64_t ranks = source.ranks;
  // avg: multiples of the rank count, so that the division is exact too, if the type can hold two
  // of them. Wide integers keep remainders, to test that they are truncated.
  const bool is_wide_integer = !is_floating(source.type) && size_of(source.type) > 1;
  const bool divides = source.op == ReduceOp::avg && !is_wide_integer;
  const std::int64_t unit = divides && budget >= 2 * source.divisor ? source.divisor : 1;
  const std::int64_t units = budget / unit;
  const std::int64_t largest = std::max<std::int64_t>(1, units / source.weight);
  const std::int64_t contributors =
      std::max<std::int64_t>(1, units / largest / source.multiplicity);
  return {std::min(ranks, contributors), largest, unit};
}

std::int64_t magnitude_of(const Shares& shares, std::size_t position, std::int64_t contributor) {
  const auto choices = static_cast<std::uint64_t>(shares.largest < 2 ? 2 : shares.largest);
  return static_cast<std::int64_t>(hash_of(position, static_cast<int>(contributor)) % choices);
}

/// The parity of the sum equals that of the position, so that neighbouring results differ.
Value summand(const ValueSource& source, std::size_t position, std::int64_t contributor) {
  const Shares shares = share_out(source);
  if (contributor >= shares.contributors) return {};
  std::int64_t magnitude = magnitude_of(shares, position, contributor);
  if (contributor == 0) {
    std::int64_t parity = is_odd(position);
    for (std::int64_t other = 0; other < shares.contributors; ++other)
      parity ^= magnitude_of(shares, position, other) & 1;
    magnitude ^= parity;
  }
  const bool is_negative = !is_unsigned(source.type) &&
                           (hash_of(position, static_cast<int>(contributor)) >> 63) != 0;
  return {(is_negative ? -magnitude : magnitude) * shares.unit, 0};
}

/// Powers of two from at most four ranks (their product is exact in every type), and signs from
/// all.
Value factor(const ValueSource& source, std::size_t position, std::int64_t contributor) {
  const std::int64_t contributors =
      source.signs_alone ? 0 : std::min<std::int64_t>(source.ranks, 4 / source.multiplicity);
  const auto exponent_of = [&](std::int64_t who) {
    return static_cast<int>(hash_of(position, static_cast<int>(who)) & 1);
  };
  int exponent = contributor < contributors ? exponent_of(contributor) : 0;
  if (contributor == 0 && contributors > 0) {
    int parity = static_cast<int>(is_odd(position));
    for (std::int64_t other = 0; other < contributors; ++other) parity ^= exponent_of(other);
    exponent ^= parity;
  }
  const std::uint64_t hash = hash_of(position, static_cast<int>(contributor));
  if (is_floating(source.type) && ((hash >> 62) & 1) != 0) exponent = -exponent;
  const bool is_negative = !is_unsigned(source.type) && (hash >> 63) != 0;
  return {is_negative ? -1 : 1, exponent};
}

/// One rank, which rotates with the position, holds the smallest value (min); all others larger
/// ones.
Value candidate(const ValueSource& source, std::size_t position, std::int64_t contributor) {
  const std::int64_t bound = range_of(source.type).extreme;
  const auto hash =
      static_cast<std::int64_t>(hash_of(position, static_cast<int>(contributor)) >> 2);
  const std::int64_t low =
      contributor == 0 ? -1 - (2 * (hash / 2) + is_odd(position)) % bound : hash % bound;
  return {source.op == ReduceOp::min ? low : -low, 0};
}

/// L + 1 + 1, where L is so large that the type can hold L + 2 but not L + 1: accumulated in the
/// type, the ones vanish if they come after L.
Value rounding_summand(const ValueSource& source, std::size_t position, std::int64_t contributor) {
  const std::int64_t sign = is_odd(position) != 0 ? -1 : 1;
  if (contributor == 0) return {sign * range_of(source.type).sum, 0};
  return {contributor <= 2 ? sign : 0, 0};
}

Value value_of(const ValueSource& source, int place, std::size_t position) {
  const std::int64_t contributor =
      (place + static_cast<std::int64_t>(position)) % static_cast<std::int64_t>(source.ranks);
  if (source.pattern == DataPattern::rounding)
    return rounding_summand(source, position, contributor);
  switch (source.op) {
    case ReduceOp::prod:
      return factor(source, position, contributor);
    case ReduceOp::min:
    case ReduceOp::max:
      return candidate(source, position, contributor);
    case ReduceOp::none:
    case ReduceOp::sum:
    case ReduceOp::avg:
      break;
  }
  return summand(source, position, contributor);
}

template <class T>
void store_value(const ValueSource& source, std::byte* elements, std::size_t i, Value value) {
  if constexpr (std::is_integral_v<T>) {
    auto bits = static_cast<std::uint64_t>(value.integer) << value.exponent;
    // Unsigned min and max use values on both sides of the sign bit: compared as signed, they come
    // out wrong.
    const bool compares = source.op == ReduceOp::min || source.op == ReduceOp::max;
    if (std::is_unsigned_v<T> && compares) bits += std::uint64_t{1} << (8 * sizeof(T) - 1);
    store_element<T>(elements, i, static_cast<T>(bits));
  } else {
    const double number = std::ldexp(static_cast<double>(value.integer), value.exponent);
    store_element<T>(elements, i, static_cast<Accumulator<T>>(number));
  }
}

/// Data that is only moved may have any bits; the lowest bit alternates.
void write_bits(int rank, std::size_t first, std::span<std::byte> elements, std::size_t size) {
  for (std::size_t i = 0; i < elements.size() / size; ++i) {
    const std::size_t position = (first + i) % pattern_period;
    const std::uint64_t bits = (hash_of(position, rank) & ~std::uint64_t{1}) |
                               static_cast<std::uint64_t>(is_odd(position));
    std::memcpy(elements.data() + i * size, &bits, size);  // little-endian: the low bytes
  }
}

/// The operator for which the values are made, so that all steps of a mesh reduction are exact. If
/// all steps have one operator: that one. If prod is mixed with others: prod, with signs only.
/// Otherwise avg or sum, whose values suit max and min as well.
ReduceOp op_of_values(const MeshReduction& mesh) {
  const auto has = [&](ReduceOp op) {
    return std::ranges::find(mesh.steps, op, &MeshStep::op) != mesh.steps.end();
  };
  const bool is_one = std::ranges::all_of(
      mesh.steps, [&](const MeshStep& step) { return step.op == mesh.steps.front().op; });
  if (is_one) return mesh.steps.front().op;
  if (has(ReduceOp::prod)) return ReduceOp::prod;
  return has(ReduceOp::avg) ? ReduceOp::avg : ReduceOp::sum;
}

}  // namespace

OracleData::OracleData(const VerifiedCall& call, int rank)
    : call_(call),
      source_{.type = call.problem.data_type,
              .op = call.problem.reduce_op,
              .pattern = call.pattern,
              .ranks = call.ranks,
              .weight = call.ranks,
              .divisor = call.ranks},
      place_(rank) {
  if (!call.problem.mesh) return;
  const MeshReduction& mesh = *call.problem.mesh;
  const std::vector<int> components = components_of(mesh);
  component_ = static_cast<std::size_t>(components[static_cast<std::size_t>(rank)]);
  members_ = ranks_by_group(components)[component_];
  place_ = place_of(rank);
  std::int64_t divisor = 1;
  for (const MeshStep& step : mesh.steps) {
    Step& own = steps_.emplace_back(Step{.op = step.op, .groups = {}});
    std::int64_t multiple = 1;  // of all group sizes of the step
    for (const std::vector<int>& group : ranks_by_group(groups_of(mesh, step))) {
      if (components[static_cast<std::size_t>(group.front())] != static_cast<int>(component_))
        continue;
      std::vector<int>& places = own.groups.emplace_back();
      for (const int other : group) places.push_back(place_of(other));
      multiple = std::lcm(multiple, static_cast<std::int64_t>(group.size()));
    }
    constexpr std::int64_t largest = std::int64_t{1} << 30;  // larger than every budget
    if (step.op == ReduceOp::avg)
      divisor = std::min(largest, divisor * std::min(largest, multiple));
  }
  source_.op = op_of_values(mesh);
  source_.signs_alone =
      source_.op == ReduceOp::prod && std::ranges::any_of(mesh.steps, [](const MeshStep& step) {
        return step.op != ReduceOp::prod;
      });
  source_.ranks = static_cast<int>(members_.size());
  source_.weight = 1;
  source_.divisor = divisor;
  for (const int member : members_) {
    std::uint64_t sum = 0;
    for (const std::uint64_t entry : membership_row(mesh, member)) {
      sum += std::min<std::uint64_t>(entry, 1U << 30U);
      source_.multiplicity = std::max(
          source_.multiplicity, static_cast<std::int64_t>(std::min<std::uint64_t>(entry, 1U << 30U)));
    }
    source_.weight = std::max(source_.weight, static_cast<std::int64_t>(sum));
  }
}

int OracleData::place_of(int rank) const {
  if (members_.empty()) return rank;
  return static_cast<int>(std::ranges::lower_bound(members_, rank) - members_.begin());
}

std::size_t OracleData::position_of(std::size_t index) const {
  // A prime, so that elements near each other in one component are not near in the next.
  constexpr std::size_t between_components = 1009;
  return (index % pattern_period + call_.seed % pattern_period +
          component_ * between_components % pattern_period) %
         pattern_period;
}

void OracleData::write_inputs(int source, std::size_t first, std::span<std::byte> elements) const {
  write_values(place_of(source), first, elements);
}

void OracleData::write_values(int place, std::size_t first, std::span<std::byte> elements) const {
  if (source_.op == ReduceOp::none)
    return write_bits(place, first, elements, size_of(source_.type));
  with_element_type(source_.type, [&]<class T>(T) {
    for (std::size_t i = 0; i < elements.size() / sizeof(T); ++i)
      store_value<T>(source_, elements.data(), i,
                     value_of(source_, place, (first + i) % pattern_period));
  });
}

void OracleData::write_reduced(std::size_t first, std::span<std::byte> elements) const {
  const std::size_t size = size_of(source_.type);
  const std::size_t count = elements.size() / size;
  const auto ranks = static_cast<std::size_t>(source_.ranks);
  constexpr std::size_t block = 256;  // 2 MiB of inputs at 1024 ranks
  std::vector<std::byte> inputs(ranks * block * size);
  std::vector<std::byte> result(block * size);
  const auto at = [&](int place) {
    return inputs.data() + static_cast<std::size_t>(place) * block * size;
  };
  std::vector<Step> steps = steps_;
  if (steps.empty()) {
    steps.push_back({.op = source_.op, .groups = {{}}});
    for (int place = 0; place < source_.ranks; ++place) steps[0].groups[0].push_back(place);
  }
  for (std::size_t done = 0; done < count; done += block) {
    const std::size_t now = std::min(block, count - done);
    for (int place = 0; place < source_.ranks; ++place)
      write_values(place, first + done, {at(place), now * size});
    for (const Step& step : steps)
      for (const std::vector<int>& group : step.groups) {
        std::vector<const std::byte*> sources;
        for (const int place : group) sources.push_back(at(place));
        reduce_in_rank_order(
            sources, result.data(), now,
            {.type = source_.type, .op = step.op, .ranks = static_cast<int>(group.size())});
        for (const int place : group) std::memcpy(at(place), result.data(), now * size);
      }
    std::memcpy(elements.data() + done * size, at(place_), now * size);
  }
}

double number_at(DataType type, const std::byte* at) {
  return with_element_type(type,
                           [&]<class T>(T) { return static_cast<double>(load_element<T>(at, 0)); });
}

double OracleData::rounding_bound(std::size_t position) const {
  double magnitudes = 0;
  for (int place = 0; place < source_.ranks; ++place) {
    const Value value = value_of(source_, place, position);
    magnitudes += std::abs(std::ldexp(static_cast<double>(value.integer), value.exponent));
  }
  const double unit = range_of(source_.type).unit_roundoff;
  if (!steps_.empty()) {
    const auto roundings = static_cast<double>(source_.weight) + static_cast<double>(steps_.size());
    const double most = magnitudes * static_cast<double>(source_.multiplicity);
    const bool averages_all = std::ranges::all_of(
        steps_, [](const Step& step) { return step.op == ReduceOp::avg; });
    return 2 * std::expm1(roundings * std::log1p(unit)) * most /
           (averages_all ? static_cast<double>(source_.weight) : 1.0);
  }
  const bool divides = source_.op == ReduceOp::avg;
  const double roundings = divides ? source_.ranks + 1 : source_.ranks;
  return std::expm1(roundings * std::log1p(unit)) * magnitudes / (divides ? source_.ranks : 1);
}

}  // namespace colltune
