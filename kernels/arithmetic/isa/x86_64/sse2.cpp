// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Compiled for every x86-64 processor.

#include <emmintrin.h>

#include "arithmetic/isa/vector_body.h"

namespace colltune {
namespace {

struct Sse2Packing : PortablePacking<16> {
  static Word to_words(Half halves) {
    long long bits;
    __builtin_memcpy(&bits, &halves, sizeof bits);
    return (Word)_mm_unpacklo_epi16(_mm_cvtsi64_si128(bits), _mm_setzero_si128());
  }
  static Word to_words(Quarter quarters) {
    int bits;
    __builtin_memcpy(&bits, &quarters, sizeof bits);
    const __m128i zero = _mm_setzero_si128();
    return (Word)_mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(bits), zero), zero);
  }
  static Line pack(const Word (&words)[2]) {
    // Sign-extended from 16 bits, so that the saturating pack changes no value.
    const auto extend = [](Word word) {
      return _mm_srai_epi32(_mm_slli_epi32((__m128i)word, 16), 16);
    };
    return (Line)_mm_packs_epi32(extend(words[0]), extend(words[1]));
  }
  static Line pack(const Word (&words)[4]) {
    return (Line)_mm_packus_epi16(_mm_packs_epi32((__m128i)words[0], (__m128i)words[1]),
                                  _mm_packs_epi32((__m128i)words[2], (__m128i)words[3]));
  }
};

struct Sse2 {
  static constexpr std::size_t width = 16;
  using Packing = Sse2Packing;
  static constexpr bool converts_float16 = false;
  static constexpr bool streams = true;
  static void stream(std::byte* to, Vector<std::uint8_t, width> line) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)line);
  }
};

}  // namespace

extern constexpr Isa sse2_isa{.name = "sse2",
                              .needs = {"sse2"},
                              .vector_bytes = Sse2::width,
                              .streams = Sse2::streams,
                              .reduce = vector_reduce<Sse2>,
                              .copy = vector_copy<Sse2>};

}  // namespace colltune
