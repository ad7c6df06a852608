// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/regime.h"

namespace colltune {

std::string describe(const Regime& regime) {
  return "calling=" + std::string(name_of(regime.calling)) +
         ", input=" + std::string(name_of(regime.input));
}

}  // namespace colltune
