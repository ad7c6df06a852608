// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// SVE at one vector length: compiled with -msve-vector-bits, which makes vectors of that width one
// register each. On a processor with another length such code is wrong, so each length is an
// instruction set of its own (isa_names in portable/machine.cpp tells the processor's). 128 bits
// are not here: NEON has those.

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
