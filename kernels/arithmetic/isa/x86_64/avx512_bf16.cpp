// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Compiled as avx512.cpp is, with -mavx512bf16: see vector_body.h on what that forbids here.

#include "avx512.h"

namespace colltune {
namespace {

struct Avx512Bf16 : Avx512 {
  using Floats = Vector<float, width>;

  /// VCVTNE2PS2BF16 treats subnormals as zeros, regardless of the processor's mode bits.
  static bool narrows_to_bfloat16(const Floats (&floats)[2]) {
    constexpr int subnormal = 0x20;
    return _cvtmask16_u32(_mm512_fpclass_ps_mask((__m512)floats[0], subnormal)) +
               _cvtmask16_u32(_mm512_fpclass_ps_mask((__m512)floats[1], subnormal)) ==
           0;
  }
  static Lanes<Avx512>::Word narrow_to_bfloat16(const Floats (&floats)[2]) {
    using Line = Vector<std::uint16_t, width>;
    const Line halves = (Line)_mm512_cvtne2ps_pbh((__m512)floats[1], (__m512)floats[0]);
    return (Lanes<Avx512>::Word)[&]<unsigned... i>(std::integer_sequence<unsigned, i...>) {
      return __builtin_shufflevector(halves, halves, (i / 2 + i % 2 * width / 4)...);
    }
    (std::make_integer_sequence<unsigned, width / 2>{});
  }
};

}  // namespace

extern constexpr Isa avx512_bf16_isa{
    .name = "avx512_bf16",
    .needs = {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_bf16"},
    .vector_bytes = Avx512Bf16::width,
    .streams = Avx512Bf16::streams,
    .reduce = vector_reduce<Avx512Bf16>,
    .copy = vector_copy<Avx512Bf16>};

}  // namespace colltune
