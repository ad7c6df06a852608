// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "colltune/vocabulary/names.h"

namespace colltune {

/// Which bits a program accepts from sums and products of floating-point numbers among 3 ranks or
/// more, whose order shows in them.
enum class ProgramNumerics {
  library = 0,    ///< those of the library's own order: such calls are left to it
  any = 1,        ///< NumericClass::any
  same_bits = 2,  ///< NumericClass::same_bits
  rank_order = 3  ///< NumericClass::rank_order
};
constexpr std::array<Named<ProgramNumerics>, 4> enum_names(ProgramNumerics) {
  return {{{ProgramNumerics::library, "library"},
           {ProgramNumerics::any, "any"},
           {ProgramNumerics::same_bits, "same_bits"},
           {ProgramNumerics::rank_order, "rank_order"}}};
}
constexpr std::string_view enum_title(ProgramNumerics) { return "numerics"; }

}  // namespace colltune
