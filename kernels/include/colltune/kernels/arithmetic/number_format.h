// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace colltune {

// Floating types narrower than float, as their bits. Conversion from float rounds to nearest, ties
// to even; a NaN stays a NaN. 16-bit types overflow to infinity as in IEEE 754; fp8 types saturate
// to their largest finite value, also for infinities, as NCCL's and CUDA's do.

/// IEEE 754 binary16.
struct Float16 {
  std::uint16_t bits = 0;
};
/// The upper half of a float.
struct BFloat16 {
  std::uint16_t bits = 0;
};
/// OCP E4M3 ("FN"): no infinities, NaN is S.1111.111, largest 448.
struct Float8E4M3 {
  std::uint8_t bits = 0;
};
/// OCP E5M2: IEEE-like, largest 57344.
struct Float8E5M2 {
  std::uint8_t bits = 0;
};

namespace number_format_detail {

/// A small format with `mantissa` bits of mantissa and exponent bias `bias`. `overflow`: the bits
/// that replace a magnitude beyond the largest finite one. `first_non_finite`: the lowest bits that
/// are an infinity or NaN. `nan`: the bits of the NaN that is written. `sign`: the sign bit.
struct Layout {
  int mantissa;
  int bias;
  std::uint32_t overflow;
  std::uint32_t first_non_finite;
  bool has_infinity;
  std::uint32_t nan;
  std::uint32_t sign;
};
inline constexpr Layout float16{10, 15, 0x7c00, 0x7c00, true, 0x7e00, 0x8000};
inline constexpr Layout float8_e4m3{3, 7, 0x7e, 0x7f, false, 0x7f, 0x80};
inline constexpr Layout float8_e5m2{2, 15, 0x7b, 0x7c, true, 0x7e, 0x80};

inline constexpr std::uint32_t float_infinity = 0x7f800000U;
inline constexpr std::uint32_t float_nan = 0x7fc00000U;

// The conversions are written once, without branches, for single values and for vectors of values.
// `Lanes` names their types `Float` and `Word` (unsigned, 32 bits) and defines
//   bits(Float), floats(Word)              the same bits as the other type
//   if_less(a, b, then, otherwise)         a < b ? then : otherwise, for a and b below 2^31
//   smaller(a, b), larger(a, b)            of the two, below 2^31
// Always inlined: a call would pass the vectors through memory.
struct OneLane {
  using Float = float;
  using Word = std::uint32_t;
  static constexpr Word bits(Float value) { return std::bit_cast<Word>(value); }
  static constexpr Float floats(Word value) { return std::bit_cast<Float>(value); }
  static constexpr Word if_less(Word a, Word b, Word then, Word otherwise) {
    return a < b ? then : otherwise;
  }
  static constexpr Word smaller(Word a, Word b) { return a < b ? a : b; }
  static constexpr Word larger(Word a, Word b) { return a < b ? b : a; }
};

/// The bits of `value` rounded to the format.
template <Layout layout, class Lanes>
[[gnu::always_inline]] constexpr typename Lanes::Word narrow(typename Lanes::Float value) {
  using Word = typename Lanes::Word;
  constexpr int dropped = 23 - layout.mantissa;
  constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(128 - layout.bias) << 23;
  // The float that `overflow` would stand for if it were a number.
  constexpr std::uint32_t largest = (layout.overflow << dropped) + smallest_normal - (1U << 23);

  const Word wide = Lanes::bits(value);
  const Word magnitude = wide & 0x7fffffffU;
  const Word number = Lanes::smaller(magnitude, Word{} + largest);
  // Adding a power of two whose last place is the last place of the result makes the hardware round
  // to even. It leaves the result's digits, with their leading one, in the low bits of the sum.
  const Word exponent =
      Lanes::larger(number & float_infinity, Word{} + smallest_normal) - smallest_normal;
  const Word power = exponent + (smallest_normal + (static_cast<std::uint32_t>(dropped) << 23));
  const Word digits = Lanes::bits(Lanes::floats(number) + Lanes::floats(power)) - power;
  // The leading one of a normal number carries into the exponent, which counts from that of
  // subnormals.
  const Word bits = Lanes::if_less(Word{} + float_infinity, magnitude, Word{} + layout.nan,
                                   digits + (exponent >> dropped));
  return bits | ((wide >> (31 - std::countr_zero(layout.sign))) & layout.sign);
}

/// The value that `bits` of the format stand for; every NaN becomes the quiet NaN of the same sign.
template <Layout layout, class Lanes>
[[gnu::always_inline]] constexpr typename Lanes::Float widen(typename Lanes::Word bits) {
  using Word = typename Lanes::Word;
  constexpr std::uint32_t one = 1U << layout.mantissa;
  constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(128 - layout.bias) << 23;
  constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - layout.bias) << 23;

  const Word magnitude = bits & (layout.sign - 1);
  const Word shifted = magnitude << (23 - layout.mantissa);
  // A subnormal: its mantissa after the leading one of the smallest normal, minus that one. Exact.
  const Word subnormal =
      Lanes::bits(Lanes::floats(shifted + smallest_normal) - std::bit_cast<float>(smallest_normal));
  Word wide = Lanes::if_less(magnitude, Word{} + one, subnormal, shifted + rebias);
  const Word first = Word{} + layout.first_non_finite;
  Word non_finite = Word{} + float_nan;
  if constexpr (layout.has_infinity)
    non_finite = Lanes::if_less(first, magnitude, non_finite, Word{} + float_infinity);
  wide = Lanes::if_less(magnitude, first, wide, non_finite);
  return Lanes::floats(wide | ((bits & layout.sign) << (31 - std::countr_zero(layout.sign))));
}

/// The upper halves of floats' bits, rounded. The only NaNs allowed are quiet ones without payload.
template <class Lanes>
[[gnu::always_inline]] constexpr typename Lanes::Word round_to_upper_half(
    typename Lanes::Word wide) {
  return (wide + 0x7fffU + ((wide >> 16) & 1U)) >> 16;
}
/// The bits of `value` rounded to bfloat16; a NaN keeps the upper bits of its payload.
template <class Lanes>
[[gnu::always_inline]] constexpr typename Lanes::Word narrow_to_bfloat16(
    typename Lanes::Float value) {
  using Word = typename Lanes::Word;
  const Word wide = Lanes::bits(value);
  return Lanes::if_less(Word{} + float_infinity, wide & 0x7fffffffU, (wide >> 16) | 0x0040U,
                        round_to_upper_half<Lanes>(wide));
}

}  // namespace number_format_detail

[[nodiscard]] constexpr float to_float(Float16 value) {
  using namespace number_format_detail;
  return widen<float16, OneLane>(value.bits);
}
[[nodiscard]] constexpr float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
[[nodiscard]] constexpr float to_float(Float8E4M3 value) {
  using namespace number_format_detail;
  return widen<float8_e4m3, OneLane>(value.bits);
}
[[nodiscard]] constexpr float to_float(Float8E5M2 value) {
  using namespace number_format_detail;
  return widen<float8_e5m2, OneLane>(value.bits);
}

/// `value` rounded to `Narrow`.
template <class Narrow>
[[nodiscard]] constexpr Narrow round_to(float value);

template <>
constexpr Float16 round_to<Float16>(float value) {
  using namespace number_format_detail;
  return {static_cast<std::uint16_t>(narrow<float16, OneLane>(value))};
}
template <>
constexpr BFloat16 round_to<BFloat16>(float value) {
  using namespace number_format_detail;
  return {static_cast<std::uint16_t>(narrow_to_bfloat16<OneLane>(value))};
}
template <>
constexpr Float8E4M3 round_to<Float8E4M3>(float value) {
  using namespace number_format_detail;
  return {static_cast<std::uint8_t>(narrow<float8_e4m3, OneLane>(value))};
}
template <>
constexpr Float8E5M2 round_to<Float8E5M2>(float value) {
  using namespace number_format_detail;
  return {static_cast<std::uint8_t>(narrow<float8_e5m2, OneLane>(value))};
}

}  // namespace colltune
