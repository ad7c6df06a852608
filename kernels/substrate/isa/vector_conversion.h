// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The narrow floating types as vectors. Only for the translation units that vector_body.h speaks
// of.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "colltune/kernels/number_format.h"
#include "isa/vector.h"

namespace colltune {
namespace {

/// How a narrow floating type becomes floats, and floats the bits of it, one per word.
template <class Target, class T>
struct Conversion {
  using Narrow = Vector<decltype(T{}.bits), Target::width * sizeof(T) / sizeof(float)>;
  using Float = typename Lanes<Target>::Float;
  using Word = typename Lanes<Target>::Word;

  [[gnu::always_inline]] static Float widen(Narrow narrow) {
    using Packing = typename Target::Packing;
    if constexpr (std::is_same_v<T, BFloat16>)
      return Lanes<Target>::floats(Packing::to_words(narrow) << 16);
    else if constexpr (std::is_same_v<T, Float16> && Target::converts_float16)
      return Target::widen_float16(narrow);
    else if constexpr (std::is_same_v<T, Float8E5M2> && Target::converts_float16)
      // The upper half of a Float16. A NaN keeps its payload here and loses it in `narrow`.
      return Target::widen_float16(Packing::to_halves(narrow) << 8);
    else
      return number_format_detail::widen<layout(), Lanes<Target>>(Packing::to_words(narrow));
  }

  /// `has_one_nan`: the only NaN among the values is the positive quiet one without payload.
  template <bool has_one_nan>
  [[gnu::always_inline]] static Word narrow(Float value) {
    using namespace number_format_detail;
    if constexpr (!std::is_same_v<T, BFloat16>)
      return number_format_detail::narrow<layout(), Lanes<Target>>(value);
    else if constexpr (has_one_nan)
      return round_to_upper_half<Lanes<Target>>(Lanes<Target>::bits(value));
    else
      return narrow_to_bfloat16<Lanes<Target>>(value);
  }

  /// Float16 where the processor converts it: it keeps a NaN's payload, while Float16's conversion
  /// is to write one NaN per sign.
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
  static constexpr number_format_detail::Layout layout() {
    if constexpr (std::is_same_v<T, Float16>) return number_format_detail::float16;
    if constexpr (std::is_same_v<T, Float8E4M3>) return number_format_detail::float8_e4m3;
    return number_format_detail::float8_e5m2;
  }
};

}  // namespace
}  // namespace colltune
