// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The narrow floating types as vectors. Only for the translation units that vector_body.h
// describes.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "colltune/kernels/arithmetic/number_format.h"
#include "vector.h"

namespace colltune {
namespace {

/// The target has instructions that round the floats of a line to bfloat16, given as even and then
/// odd elements; a NaN without payload keeps none.
template <class Target>
concept NarrowsToBFloat16 = requires(const Vector<float, Target::width> (&floats)[2]) {
  Target::narrows_to_bfloat16(floats);
  Target::narrow_to_bfloat16(floats);
};

/// A line of BFloat16 as two vectors of floats, one of the even and one of the odd elements: each
/// half of a word becomes a float without moving to another word.
template <class Target>
struct BFloat16Line {
  using Float = typename Lanes<Target>::Float;
  using Word = typename Lanes<Target>::Word;

  [[gnu::always_inline]] static void widen(Word line, Float (&floats)[2]) {
    floats[0] = Lanes<Target>::floats(line << 16);
    floats[1] = Lanes<Target>::floats(line & 0xffff0000U);
  }

  /// `has_one_nan`: the only NaN among the values is the positive quiet one without payload.
  template <bool has_one_nan>
  [[gnu::always_inline]] static Word narrow(const Float (&floats)[2]) {
    if constexpr (has_one_nan && NarrowsToBFloat16<Target>)
      if (Target::narrows_to_bfloat16(floats)) [[likely]]
        return Target::narrow_to_bfloat16(floats);
    return half_of<has_one_nan>(floats[0]) | (half_of<has_one_nan>(floats[1]) << 16);
  }

 private:
  template <bool has_one_nan>
  [[gnu::always_inline]] static Word half_of(Float value) {
    using namespace number_format_detail;
    if constexpr (has_one_nan)
      return round_to_upper_half<Lanes<Target>>(Lanes<Target>::bits(value));
    else
      return narrow_to_bfloat16<Lanes<Target>>(value);
  }
};

/// Converts the other narrow floating types to floats, and floats to their bits, one per word.
template <class Target, class T>
struct Conversion {
  using Narrow = Vector<decltype(T{}.bits), Target::width * sizeof(T) / sizeof(float)>;
  using Float = typename Lanes<Target>::Float;
  using Word = typename Lanes<Target>::Word;

  [[gnu::always_inline]] static Float widen(Narrow narrow) {
    using Packing = typename Target::Packing;
    if constexpr (std::is_same_v<T, Float16> && Target::converts_float16)
      return Target::widen_float16(narrow);
    else if constexpr (std::is_same_v<T, Float8E5M2> && Target::converts_float16)
      // The upper half of a Float16. A NaN keeps its payload here; `narrow` removes it.
      return Target::widen_float16(Packing::to_halves(narrow) << 8);
    else if constexpr (std::is_same_v<T, Float8E4M3> && Target::converts_float16)
      return widen_e4m3_by_processor(Packing::to_halves(narrow));
    else
      return number_format_detail::widen<layout(), Lanes<Target>>(Packing::to_words(narrow));
  }

  [[gnu::always_inline]] static Word narrow(Float value) {
    return number_format_detail::narrow<layout(), Lanes<Target>>(value);
  }

  /// To Float16 by the processor's instruction. That keeps a NaN's payload, while Float16's
  /// conversion must write one NaN per sign. `has_one_nan`: the only NaN among the values is the
  /// positive quiet one without payload.
  template <bool has_one_nan>
  [[gnu::always_inline]] static Narrow narrow_by_processor(Float value) {
    using namespace number_format_detail;
    if constexpr (has_one_nan) return Target::narrow_float16(value);
    const Word wide = Lanes<Target>::bits(value);
    const Word nan = (wide & 0x80000000U) | float_nan;
    return Target::narrow_float16(Lanes<Target>::floats(
        Lanes<Target>::if_less(Word{} + float_infinity, wide & 0x7fffffffU, nan, wide)));
  }

 private:
  /// Places the bits of a Float8E4M3 within those of a Float16, whose exponent bias is larger by 8.
  /// A NaN of E4M3 would be a number there, so a bit that only a NaN causes turns it into one;
  /// `narrow` removes its payload.
  template <class Half>
  [[gnu::always_inline]] static Float widen_e4m3_by_processor(Half bytes) {
    using Signed = Vector<std::int16_t, sizeof(Half)>;
    const Half halves = (Half)((Signed)(bytes << 8) >> 1) & 0xbf80;
    const Half is_nan = (Half)((halves & 0x3f80) == 0x3f80);
    return Target::widen_float16(halves | (is_nan & 0x4000)) * 256.0F;
  }

  static constexpr number_format_detail::Layout layout() {
    if constexpr (std::is_same_v<T, Float16>) return number_format_detail::float16;
    if constexpr (std::is_same_v<T, Float8E4M3>) return number_format_detail::float8_e4m3;
    return number_format_detail::float8_e5m2;
  }
};

}  // namespace
}  // namespace colltune
