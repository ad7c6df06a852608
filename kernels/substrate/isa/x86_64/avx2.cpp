// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx2 -mf16c: see vector_body.h on what that forbids here.

#include <immintrin.h>

#include "isa/vector_body.h"

namespace colltune {
namespace {

struct Avx2 {
  static constexpr std::size_t width = 32;
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
                              .reduce = vector_reduce<Avx2>,
                              .copy = vector_copy<Avx2>};

}  // namespace colltune
