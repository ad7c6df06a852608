// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx2 -mf16c: see vector_body.h on what that forbids here.

#include <immintrin.h>

#include "arithmetic/isa/vector_body.h"

namespace colltune {
namespace {

struct Avx2Packing : PortablePacking<32> {
  static Word to_words(Half halves) { return (Word)_mm256_cvtepu16_epi32((__m128i)halves); }
  static Word to_words(Quarter quarters) {
    return (Word)_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bits(quarters)));
  }
  static Half to_halves(Quarter quarters) {
    return (Half)_mm_cvtepu8_epi16(_mm_cvtsi64_si128(bits(quarters)));
  }
  // Packing works within each half of a register, so the quarters must be reordered afterwards.
  static Line pack(const Word (&words)[2]) {
    return (Line)_mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)words[0], (__m256i)words[1]),
                                          0b11'01'10'00);
  }
  static Line pack(const Word (&words)[4]) {
    const __m256i packed =
        _mm256_packus_epi16(_mm256_packus_epi32((__m256i)words[0], (__m256i)words[1]),
                            _mm256_packus_epi32((__m256i)words[2], (__m256i)words[3]));
    return (Line)_mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }

 private:
  static long long bits(Quarter quarters) {
    long long all;
    __builtin_memcpy(&all, &quarters, sizeof all);
    return all;
  }
};

struct Avx2 {
  static constexpr std::size_t width = 32;
  using Packing = Avx2Packing;
  static constexpr bool converts_float16 = true;
  static constexpr bool streams = true;
  static Vector<float, width> widen_float16(Vector<std::uint16_t, width / 2> halves) {
    return (Vector<float, width>)_mm256_cvtph_ps((__m128i)halves);
  }
  static Vector<std::uint16_t, width / 2> narrow_float16(Vector<float, width> floats) {
    return (Vector<std::uint16_t, width / 2>)_mm256_cvtps_ph((__m256)floats,
                                                             _MM_FROUND_TO_NEAREST_INT);
  }
  static void stream(std::byte* to, Vector<std::uint8_t, width> line) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)line);
  }
};

}  // namespace

extern constexpr Isa avx2_isa{.name = "avx2",
                              .needs = {"avx2", "f16c"},
                              .vector_bytes = Avx2::width,
                              .streams = Avx2::streams,
                              .reduce = vector_reduce<Avx2>,
                              .copy = vector_copy<Avx2>};

}  // namespace colltune
