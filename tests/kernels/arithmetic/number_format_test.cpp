// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/arithmetic/number_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace colltune {
namespace {

/// What a pattern of a small binary format stands for, straight from the definition.
double value_of(unsigned bits, int exponent_bits, int mantissa_bits, int bias) {
  const unsigned mantissa = bits & ((1U << mantissa_bits) - 1);
  const unsigned exponent = (bits >> mantissa_bits) & ((1U << exponent_bits) - 1);
  const double sign = ((bits >> (mantissa_bits + exponent_bits)) & 1U) != 0 ? -1 : 1;
  const double fraction = static_cast<double>(mantissa) / (1U << mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1 + fraction, static_cast<int>(exponent) - bias);
}

/// Every pattern reads as the definition says, survives the way to float and back, and wins over
/// its neighbours exactly up to the middle between them, which goes to the even one.
template <class T>
void check_every_pattern(int exponent_bits, int mantissa_bits, int bias, unsigned largest) {
  const unsigned sign = 1U << (exponent_bits + mantissa_bits);
  for (unsigned magnitude = 0; magnitude <= largest; ++magnitude)
    for (const unsigned bits : {magnitude, magnitude | sign}) {
      const T pattern{static_cast<decltype(T{}.bits)>(bits)};
      const float value = to_float(pattern);
      ASSERT_EQ(value, static_cast<float>(value_of(bits, exponent_bits, mantissa_bits, bias)));
      ASSERT_EQ(round_to<T>(value).bits, bits) << value;
      if (magnitude == largest) continue;
      const double next = value_of(bits + 1, exponent_bits, mantissa_bits, bias);
      const auto middle = static_cast<float>((static_cast<double>(value) + next) / 2);
      const unsigned even = magnitude % 2 == 0 ? bits : bits + 1;
      ASSERT_EQ(round_to<T>(middle).bits, even) << middle;
      ASSERT_EQ(round_to<T>(std::nextafter(middle, value)).bits, bits) << middle;
      ASSERT_EQ(round_to<T>(std::nextafter(middle, static_cast<float>(next))).bits, bits + 1);
    }
}

TEST(NumberFormat, EveryFiniteFloat16IsRoundedToNearestEven) {
  check_every_pattern<Float16>(5, 10, 15, 0x7bff);
}
TEST(NumberFormat, EveryFiniteFloat8E4M3IsRoundedToNearestEven) {
  check_every_pattern<Float8E4M3>(4, 3, 7, 0x7e);
}
TEST(NumberFormat, EveryFiniteFloat8E5M2IsRoundedToNearestEven) {
  check_every_pattern<Float8E5M2>(5, 2, 15, 0x7b);
}

TEST(NumberFormat, EveryBFloat16IsTheUpperHalfOfAFloat) {
  for (unsigned bits = 0; bits <= 0xffff; ++bits) {
    const BFloat16 pattern{static_cast<std::uint16_t>(bits)};
    const float value = to_float(pattern);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(round_to<BFloat16>(value))));
      continue;
    }
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value), bits << 16);
    ASSERT_EQ(round_to<BFloat16>(value).bits, bits);
    if ((bits & 0x7fffU) >= 0x7f80U) continue;
    const auto middle = std::bit_cast<float>((bits << 16) | 0x8000U);
    ASSERT_EQ(round_to<BFloat16>(middle).bits, bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(round_to<BFloat16>(std::bit_cast<float>((bits << 16) | 0x7fffU)).bits, bits);
    ASSERT_EQ(round_to<BFloat16>(std::bit_cast<float>((bits << 16) | 0x8001U)).bits, bits + 1);
  }
}

TEST(NumberFormat, SixteenBitTypesOverflowToInfinity) {
  EXPECT_EQ(round_to<Float16>(65519.0F).bits, 0x7bff);
  EXPECT_EQ(round_to<Float16>(65520.0F).bits, 0x7c00);
  EXPECT_EQ(round_to<Float16>(-1e30F).bits, 0xfc00);
  EXPECT_TRUE(std::isinf(to_float(Float16{0x7c00})));
  EXPECT_EQ(round_to<BFloat16>(std::numeric_limits<float>::max()).bits, 0x7f80);
}

TEST(NumberFormat, Float8SaturatesToItsLargestFiniteValue) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float huge : {500.0F, 1e30F, infinity}) {
    EXPECT_EQ(to_float(round_to<Float8E4M3>(huge)), 448);
    EXPECT_EQ(to_float(round_to<Float8E4M3>(-huge)), -448);
  }
  for (const float huge : {65000.0F, 1e30F, infinity}) {
    EXPECT_EQ(to_float(round_to<Float8E5M2>(huge)), 57344);
    EXPECT_EQ(to_float(round_to<Float8E5M2>(-huge)), -57344);
  }
  EXPECT_TRUE(std::isinf(to_float(Float8E5M2{0x7c})));
}

template <class T>
void check_nan(unsigned first, unsigned last) {
  EXPECT_TRUE(std::isnan(to_float(round_to<T>(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(to_float(round_to<T>(std::bit_cast<float>(0xff800001U)))));
  for (unsigned bits = first; bits <= last; ++bits)
    EXPECT_TRUE(std::isnan(to_float(T{static_cast<decltype(T{}.bits)>(bits)}))) << bits;
}

TEST(NumberFormat, NaNStaysNaN) {
  check_nan<Float16>(0x7c01, 0x7fff);
  check_nan<BFloat16>(0x7f81, 0x7fff);
  check_nan<Float8E4M3>(0x7f, 0x7f);
  check_nan<Float8E4M3>(0xff, 0xff);
  check_nan<Float8E5M2>(0x7d, 0x7f);
}

}  // namespace
}  // namespace colltune
