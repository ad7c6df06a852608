// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "isa/isa.h"

namespace colltune {

extern const Isa sse2_isa;
extern const Isa avx2_isa;
extern const Isa avx512_isa;

std::span<const Isa* const> compiled_isas() noexcept {
  static constexpr std::array all{&scalar_isa, &sse2_isa, &avx2_isa, &avx512_isa};
  return all;
}

void fence_non_temporal_stores() noexcept { __builtin_ia32_sfence(); }

}  // namespace colltune
