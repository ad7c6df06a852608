// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Compiled for every 64-bit Arm processor.

#include <arm_neon.h>

#include "arithmetic/isa/vector_body.h"

namespace colltune {
namespace {

struct Neon {
  static constexpr std::size_t width = 16;
  using Packing = PortablePacking<width>;
  static constexpr bool converts_float16 = true;
  static constexpr bool streams = false;
  static Vector<float, width> widen_float16(Vector<std::uint16_t, width / 2> halves) {
    return (Vector<float, width>)vcvt_f32_f16((float16x4_t)halves);
  }
  static Vector<std::uint16_t, width / 2> narrow_float16(Vector<float, width> floats) {
    return (Vector<std::uint16_t, width / 2>)vcvt_f16_f32((float32x4_t)floats);
  }
};

}  // namespace

extern constexpr Isa neon_isa{.name = "neon",
                              .needs = {"neon"},
                              .vector_bytes = Neon::width,
                              .streams = Neon::streams,
                              .reduce = vector_reduce<Neon>,
                              .copy = vector_copy<Neon>};

}  // namespace colltune
