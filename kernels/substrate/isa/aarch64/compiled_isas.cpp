// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <array>

#include "isa/isa.h"

namespace colltune {

extern const Isa neon_isa;

std::span<const Isa* const> compiled_isas() noexcept {
  static constexpr std::array all{&scalar_isa, &neon_isa};
  return all;
}

void fence_non_temporal_stores() noexcept {}  // there are none

}  // namespace colltune
