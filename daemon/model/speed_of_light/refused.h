// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "colltune/vocabulary/error.h"

namespace colltune::speed_of_light {

/// What a caller gave is wrong: throws Error(invalid_argument).
[[noreturn]] inline void fail(const std::string& what) {
  throw Error(StatusCode::invalid_argument, what);
}

}  // namespace colltune::speed_of_light
