// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace colltune {

// Floating types narrower than float, as their bits. Converting from float rounds to the nearest
// value, ties to even; a NaN stays a NaN. 16-bit types overflow to infinity as IEEE 754 has it; fp8
// types saturate to their largest finite value, infinities included, as NCCL's and CUDA's do.

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

/// A small format with `mantissa` bits and exponent bias `bias`; `largest` are the bits of its
/// largest finite magnitude, `nan` of a NaN, `overflow` of what magnitudes beyond become.
struct Layout {
  int mantissa;
  int bias;
  std::uint32_t largest;
  std::uint32_t overflow;
  std::uint32_t nan;
  std::uint32_t sign;
};
inline constexpr Layout float16{10, 15, 0x7bff, 0x7c00, 0x7e00, 0x8000};
inline constexpr Layout float8_e4m3{3, 7, 0x7e, 0x7e, 0x7f, 0x80};
inline constexpr Layout float8_e5m2{2, 15, 0x7b, 0x7b, 0x7e, 0x80};

template <Layout layout>
constexpr std::uint32_t narrow(float value) {
  const auto wide = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (wide >> 31) != 0 ? layout.sign : 0;
  std::uint32_t magnitude = wide & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return sign | layout.nan;
  constexpr int dropped = 23 - layout.mantissa;
  constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(128 - layout.bias) << 23;
  if (magnitude < smallest_normal) {
    // Adding a power of two whose last place is the smallest subnormal rounds to even in hardware.
    constexpr float magic =
        std::bit_cast<float>(smallest_normal + (static_cast<std::uint32_t>(dropped) << 23));
    const float shifted = std::bit_cast<float>(magnitude) + magic;
    return sign | (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(magic));
  }
  magnitude += (1U << (dropped - 1)) - 1 + ((magnitude >> dropped) & 1U);
  const std::uint32_t bits =
      (magnitude >> dropped) - (static_cast<std::uint32_t>(127 - layout.bias) << layout.mantissa);
  return sign | (bits > layout.largest ? layout.overflow : bits);
}

template <Layout layout>
constexpr float widen(std::uint32_t bits, std::uint32_t first_non_finite, bool has_infinity) {
  const std::uint32_t sign = (bits & layout.sign) != 0 ? 0x80000000U : 0;
  const std::uint32_t magnitude = bits & (layout.sign - 1);
  if (magnitude >= first_non_finite)
    return std::bit_cast<float>(
        sign | (has_infinity && magnitude == first_non_finite ? 0x7f800000U : 0x7fc00000U));
  constexpr std::uint32_t one = 1U << layout.mantissa;
  if (magnitude < one) {  // subnormal: that many times the smallest
    constexpr float smallest =
        std::bit_cast<float>(static_cast<std::uint32_t>(128 - layout.bias - layout.mantissa) << 23);
    const float value = static_cast<float>(magnitude) * smallest;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << (23 - layout.mantissa)) +
                                      (static_cast<std::uint32_t>(127 - layout.bias) << 23)));
}

}  // namespace number_format_detail

[[nodiscard]] constexpr float to_float(Float16 value) {
  return number_format_detail::widen<number_format_detail::float16>(value.bits, 0x7c00, true);
}
[[nodiscard]] constexpr float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
[[nodiscard]] constexpr float to_float(Float8E4M3 value) {
  return number_format_detail::widen<number_format_detail::float8_e4m3>(value.bits, 0x7f, false);
}
[[nodiscard]] constexpr float to_float(Float8E5M2 value) {
  return number_format_detail::widen<number_format_detail::float8_e5m2>(value.bits, 0x7c, true);
}

/// `value` rounded to `Narrow`.
template <class Narrow>
[[nodiscard]] constexpr Narrow round_to(float value);

template <>
constexpr Float16 round_to<Float16>(float value) {
  using namespace number_format_detail;
  return {static_cast<std::uint16_t>(narrow<float16>(value))};
}
template <>
constexpr BFloat16 round_to<BFloat16>(float value) {
  const auto wide = std::bit_cast<std::uint32_t>(value);
  if ((wide & 0x7fffffffU) > 0x7f800000U)
    return {static_cast<std::uint16_t>((wide >> 16) | 0x0040U)};
  return {static_cast<std::uint16_t>((wide + 0x7fffU + ((wide >> 16) & 1U)) >> 16)};
}
template <>
constexpr Float8E4M3 round_to<Float8E4M3>(float value) {
  using namespace number_format_detail;
  return {static_cast<std::uint8_t>(narrow<float8_e4m3>(value))};
}
template <>
constexpr Float8E5M2 round_to<Float8E5M2>(float value) {
  using namespace number_format_detail;
  return {static_cast<std::uint8_t>(narrow<float8_e5m2>(value))};
}

}  // namespace colltune
