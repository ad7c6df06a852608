// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What all AVX-512 bodies share. Only for the translation units that vector_body.h describes.
//
// AVX512_FP16 is not used: arithmetic in halves rounds at every step, while the declared rounding
// is one rounding from float. Its conversions are the same as those of AVX512F.

#include <immintrin.h>

#include "arithmetic/isa/vector_body.h"

namespace colltune {
namespace {

// The unmasked forms make gcc 12 warn about an uninitialised value in its own header.
constexpr __mmask16 all = 0xffff;

struct Avx512Packing : PortablePacking<64> {
  static Word to_words(Half halves) {
    return (Word)_mm512_maskz_cvtepu16_epi32(all, (__m256i)halves);
  }
  static Word to_words(Quarter quarters) {
    return (Word)_mm512_maskz_cvtepu8_epi32(all, (__m128i)quarters);
  }
  static Half to_halves(Quarter quarters) { return (Half)_mm256_cvtepu8_epi16((__m128i)quarters); }
  static Line pack(const Word (&words)[2]) {
    return (Line)join<std::uint16_t, 32>(halves(words[0]), halves(words[1]));
  }
  static Line pack(const Word (&words)[4]) {
    return join<std::uint8_t, 32>(join<std::uint8_t, 16>(quarters(words[0]), quarters(words[1])),
                                  join<std::uint8_t, 16>(quarters(words[2]), quarters(words[3])));
  }

 private:
  static Half halves(Word word) { return (Half)_mm512_maskz_cvtepi32_epi16(all, (__m512i)word); }
  static Quarter quarters(Word word) {
    return (Quarter)_mm512_maskz_cvtepi32_epi8(all, (__m512i)word);
  }
};

struct Avx512 {
  static constexpr std::size_t width = 64;
  using Packing = Avx512Packing;
  static constexpr bool converts_float16 = true;
  static constexpr bool streams = true;
  static Vector<float, width> widen_float16(Vector<std::uint16_t, width / 2> halves) {
    return (Vector<float, width>)_mm512_maskz_cvtph_ps(all, (__m256i)halves);
  }
  static Vector<std::uint16_t, width / 2> narrow_float16(Vector<float, width> floats) {
    return (Vector<std::uint16_t, width / 2>)_mm512_maskz_cvtps_ph(all, (__m512)floats,
                                                                   _MM_FROUND_TO_NEAREST_INT);
  }
  static void stream(std::byte* to, Vector<std::uint8_t, width> line) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)line);
  }
};

}  // namespace
}  // namespace colltune
