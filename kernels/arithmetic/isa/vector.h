// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Vectors of elements, the building blocks of every instruction set's body. Only for the
// translation units that vector_body.h describes.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace colltune {
namespace {

template <class Element, std::size_t bytes>
struct VectorOf {
  typedef Element type __attribute__((vector_size(bytes)));
};
template <class Element, std::size_t bytes>
using Vector = typename VectorOf<Element, bytes>::type;

/// Calls act.operator()<0>() … <n - 1>(): a loop whose indices are constants, so that arrays of
/// vectors stay in registers.
template <std::size_t n, class Act>
[[gnu::always_inline]] inline void repeat(Act&& act) {
  [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
    (act.template operator()<i>(), ...);
  }
  (std::make_index_sequence<n>{});
}

template <class Loaded>
[[gnu::always_inline]] inline Loaded load_vector(const std::byte* from) {
  Loaded loaded;
  __builtin_memcpy(&loaded, from, sizeof loaded);
  return loaded;
}

/// Copies fewer than `below` (a power of two) bytes without a call.
template <std::size_t below>
[[gnu::always_inline]] inline void copy_less_than(std::byte* to, const std::byte* from,
                                                  std::size_t size) {
  if constexpr (below > 1) {
    constexpr std::size_t half = below / 2;
    const bool copies = (size & half) != 0;
    if (copies) __builtin_memcpy(to, from, half);
    const std::size_t done = copies ? half : 0;
    copy_less_than<half>(to + done, from + done, size);
  }
}

/// Concatenates two vectors.
template <class Element, std::size_t bytes>
[[gnu::always_inline]] inline Vector<Element, 2 * bytes> join(Vector<Element, bytes> low,
                                                              Vector<Element, bytes> high) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
    return __builtin_shufflevector(low, high, i...);
  }
  (std::make_index_sequence<2 * bytes / sizeof(Element)>{});
}

/// The lanes that number_format.h's conversions run on.
template <class Target>
struct Lanes {
  using Float = Vector<float, Target::width>;
  using Word = Vector<std::uint32_t, Target::width>;
  using Signed = Vector<std::int32_t, Target::width>;
  [[gnu::always_inline]] static Word bits(Float value) { return (Word)value; }
  [[gnu::always_inline]] static Float floats(Word value) { return (Float)value; }
  [[gnu::always_inline]] static Word if_less(Word a, Word b, Word then, Word otherwise) {
    return (Signed)a < (Signed)b ? then : otherwise;
  }
  [[gnu::always_inline]] static Word smaller(Word a, Word b) {
    return (Word)((Signed)a < (Signed)b ? (Signed)a : (Signed)b);
  }
  [[gnu::always_inline]] static Word larger(Word a, Word b) {
    return (Word)((Signed)a < (Signed)b ? (Signed)b : (Signed)a);
  }
};

/// Widens narrower integers to 32-bit words and narrows them back (the values fit), one line at a
/// time. Uses the compiler's conversions in steps of two, since gcc 12 splits conversions by a
/// factor of four into single elements. A target for which these are slow too has its own packing.
template <std::size_t bytes>
struct PortablePacking {
  using Word = Vector<std::uint32_t, bytes>;
  using Half = Vector<std::uint16_t, bytes / 2>;
  using Quarter = Vector<std::uint8_t, bytes / 4>;
  using Line = Vector<std::uint8_t, bytes>;

  [[gnu::always_inline]] static Word to_words(Half halves) {
    return __builtin_convertvector(halves, Word);
  }
  [[gnu::always_inline]] static Word to_words(Quarter quarters) {
    return to_words(to_halves(quarters));
  }
  [[gnu::always_inline]] static Half to_halves(Quarter quarters) {
    return __builtin_convertvector(quarters, Half);
  }
  [[gnu::always_inline]] static Line pack(const Word (&words)[2]) {
    return (Line)to_halves(words[0], words[1]);
  }
  [[gnu::always_inline]] static Line pack(const Word (&words)[4]) {
    using HalfLine = Vector<std::uint8_t, bytes / 2>;
    return join<std::uint8_t, bytes / 2>(
        __builtin_convertvector(to_halves(words[0], words[1]), HalfLine),
        __builtin_convertvector(to_halves(words[2], words[3]), HalfLine));
  }

 private:
  [[gnu::always_inline]] static Vector<std::uint16_t, bytes> to_halves(Word low, Word high) {
    return join<std::uint16_t, bytes / 2>(__builtin_convertvector(low, Half),
                                          __builtin_convertvector(high, Half));
  }
};

}  // namespace
}  // namespace colltune
