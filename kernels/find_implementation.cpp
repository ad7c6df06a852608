// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/catalogue.h"

namespace colltune {

const Implementation* find_implementation(const Implementations& catalogue, std::string_view name) {
  for (const auto& implementation : catalogue)
    if (implementation->name() == name) return implementation.get();
  return nullptr;
}

}  // namespace colltune
