// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx512f -mavx512bw -mavx512vl -mavx512dq: see vector_body.h on what that forbids
// here.
//
// AVX512_BF16 and AVX512_FP16 stay unused: VCVTNEPS2BF16 takes subnormal inputs for zero and
// flushes subnormal results, and arithmetic in halves rounds at every step, while the declared
// rounding is one from a float, subnormals kept. Neither gives the same bits.

#include <immintrin.h>

#include "isa/vector_body.h"

namespace colltune {
namespace {

struct Avx512 {
  static constexpr std::size_t width = 64;
  static constexpr bool converts_float16 = true;
  static constexpr bool streams = true;
  // The forms without a mask make gcc 12 warn of an uninitialised value in its own header.
  static constexpr __mmask16 all = 0xffff;
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

extern constexpr Isa avx512_isa{.name = "avx512",
                                .needs = {"avx512f", "avx512bw", "avx512vl", "avx512dq"},
                                .vector_bytes = Avx512::width,
                                .reduce = vector_reduce<Avx512>,
                                .copy = vector_copy<Avx512>};

}  // namespace colltune
