// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/arithmetic/reduction.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "colltune/kernels/arithmetic/number_format.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// Reduces single elements, one per rank.
template <class T>
T reduce(std::vector<T> elements, DataType type, ReduceOp op) {
  std::vector<const std::byte*> sources;
  for (const T& element : elements) sources.push_back(reinterpret_cast<const std::byte*>(&element));
  T result{};
  reduce_in_rank_order(sources, reinterpret_cast<std::byte*>(&result), 1,
                       {type, op, static_cast<int>(elements.size())});
  return result;
}

TEST(Reduction, IntegersWrap) {
  constexpr auto largest = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(reduce<std::int32_t>({largest, 1}, DataType::i32, ReduceOp::sum),
            std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(reduce<std::int8_t>({100, 100}, DataType::i8, ReduceOp::sum), -56);
  EXPECT_EQ(reduce<std::int64_t>({std::numeric_limits<std::int64_t>::max(), 2}, DataType::i64,
                                 ReduceOp::prod),
            -2);
  EXPECT_EQ(reduce<std::uint32_t>({0x80000000U, 2}, DataType::u32, ReduceOp::prod), 0U);
}

TEST(Reduction, IntegerAverageTruncatesTowardsZero) {
  EXPECT_EQ(reduce<std::int32_t>({-3, -4}, DataType::i32, ReduceOp::avg), -3);
  EXPECT_EQ(reduce<std::int32_t>({3, 4}, DataType::i32, ReduceOp::avg), 3);
  EXPECT_EQ(reduce<std::int8_t>({-1, 0, 0}, DataType::i8, ReduceOp::avg), 0);
  EXPECT_EQ(reduce<std::uint64_t>({7, 8, 8}, DataType::u64, ReduceOp::avg), 7U);
}

TEST(Reduction, ComparesInTheOwnSign) {
  EXPECT_EQ(reduce<std::uint8_t>({200, 100}, DataType::u8, ReduceOp::max), 200);
  EXPECT_EQ(reduce<std::int8_t>({-56, 100}, DataType::i8, ReduceOp::max), 100);
  EXPECT_EQ(reduce<std::uint64_t>({1ULL << 63, 1}, DataType::u64, ReduceOp::min), 1U);
  EXPECT_EQ(reduce<double>({-1.5, 2.5}, DataType::f64, ReduceOp::min), -1.5);
}

TEST(Reduction, NarrowTypesRoundOnce) {
  // 2048 + 1 is no Float16; rounded at each step the ones would vanish.
  const auto half = [](float value) { return round_to<Float16>(value); };
  EXPECT_EQ(to_float(reduce<Float16>({half(2048), half(1), half(1)}, DataType::f16, ReduceOp::sum)),
            2050);
  const auto brain = [](float value) { return round_to<BFloat16>(value); };
  EXPECT_EQ(
      to_float(reduce<BFloat16>({brain(256), brain(1), brain(1)}, DataType::bf16, ReduceOp::sum)),
      258);
  const auto quarter = [](float value) { return round_to<Float8E4M3>(value); };
  EXPECT_EQ(
      to_float(reduce<Float8E4M3>({quarter(448), quarter(448)}, DataType::f8e4m3, ReduceOp::avg)),
      448);
}

TEST(Reduction, AddsFromTheFirstRankToTheLast) {
  EXPECT_EQ(reduce<float>({1e8F, -1e8F, 1}, DataType::f32, ReduceOp::sum), 1);
  EXPECT_EQ(reduce<float>({1, 1e8F, -1e8F}, DataType::f32, ReduceOp::sum), 0);
}

TEST(Reduction, TakesAnyAlignmentAndItsOwnDestination) {
  constexpr std::size_t count = 2500;  // more than two blocks
  std::vector<std::byte> first(count * sizeof(double) + 1);
  std::vector<std::byte> second(count * sizeof(double) + 3);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(i);
    std::memcpy(first.data() + 1 + i * sizeof value, &value, sizeof value);
    std::memcpy(second.data() + 3 + i * sizeof value, &value, sizeof value);
  }
  const std::vector<const std::byte*> sources{first.data() + 1, second.data() + 3};
  reduce_in_rank_order(sources, second.data() + 3, count, {DataType::f64, ReduceOp::sum, 2});
  for (std::size_t i = 0; i < count; ++i) {
    double value = 0;
    std::memcpy(&value, second.data() + 3 + i * sizeof value, sizeof value);
    ASSERT_EQ(value, 2.0 * static_cast<double>(i));
  }
}

TEST(Reduction, DividesASum) {
  std::vector<float> sums{3, -6, 1};
  divide_by_ranks(reinterpret_cast<std::byte*>(sums.data()), sums.size(), DataType::f32, 3);
  EXPECT_EQ(sums, (std::vector<float>{1, -2, 1.0F / 3.0F}));
}

TEST(Reduction, RefusesWhatIsNoReduction) {
  std::byte one{};
  const std::byte* const source = &one;
  EXPECT_THROW(reduce_in_rank_order({&source, 1}, &one, 1, {DataType::u8, ReduceOp::none, 1}),
               Error);
  EXPECT_THROW(reduce_in_rank_order({}, &one, 1, {DataType::u8, ReduceOp::sum, 1}), Error);
}

}  // namespace
}  // namespace colltune
