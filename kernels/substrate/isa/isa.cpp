// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "isa/isa.h"

#include <algorithm>
#include <string>
#include <vector>

#include "machine.h"

namespace colltune {

std::span<const Isa* const> supported_isas() {
  static const std::vector<const Isa*> supported = [] {
    const std::vector<std::string> names = isa_names();
    std::vector<const Isa*> found;
    for (const Isa* isa : compiled_isas())
      if (std::ranges::all_of(isa->needs, [&](const char* need) {
            return need == nullptr || std::ranges::find(names, need) != names.end();
          }))
        found.push_back(isa);
    return found;
  }();
  return supported;
}

}  // namespace colltune
