// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launch_setting.h"

#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>

namespace colltune {

const char* launch_setting(const char* name) {
  if (const char* const own = std::getenv(name); own != nullptr) return own;
  constexpr std::string_view prefix = "COLLTUNE_";
  if (!std::string_view(name).starts_with(prefix)) return nullptr;
  std::string parameter = "OMPI_MCA_coll_colltune_";
  for (const char letter : std::string_view(name).substr(prefix.size()))
    parameter += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return std::getenv(parameter.c_str());
}

}  // namespace colltune
