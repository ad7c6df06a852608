// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>

namespace colltune::test {

/// Whether the environment asks for the full counts (COLLTUNE_FULL=1; deploy/test --full sets it)
/// instead of those that each run of the tests has time for.
inline bool is_full_run() {
  const char* const full = std::getenv("COLLTUNE_FULL");
  return full != nullptr && std::string_view(full) == "1";
}

}  // namespace colltune::test
