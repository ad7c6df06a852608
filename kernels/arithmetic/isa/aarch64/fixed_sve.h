// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// SVE at one vector length: compiled with -msve-vector-bits, which makes each vector of that width
// one register. Such code is wrong on a processor with another length, so each length is a separate
// instruction set (isa_names gives the processor's). There is none for 128 bits: NEON covers that.

#include "arithmetic/isa/vector_body.h"

#if !defined(__ARM_FEATURE_SVE_BITS) || __ARM_FEATURE_SVE_BITS == 0
#error "needs -msve-vector-bits"
#endif

namespace colltune {
namespace {

struct FixedSve {
  static constexpr std::size_t width = __ARM_FEATURE_SVE_BITS / 8;
  using Packing = PortablePacking<width>;
  static constexpr bool converts_float16 = false;
  static constexpr bool streams = false;
};

}  // namespace
}  // namespace colltune
