// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Compiled for every x86-64 processor.

#include <emmintrin.h>

#include "isa/vector_body.h"

namespace colltune {
namespace {

struct Sse2 {
  static constexpr std::size_t width = 16;
  static constexpr bool converts_float16 = false;
  static constexpr bool streams = true;
  static void stream(std::byte* to, Vector<std::uint8_t, width> line) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)line);
  }
};

}  // namespace

extern constexpr Isa sse2_isa{.name = "sse2",
                              .needs = {},
                              .vector_bytes = Sse2::width,
                              .reduce = vector_reduce<Sse2>,
                              .copy = vector_copy<Sse2>};

}  // namespace colltune
