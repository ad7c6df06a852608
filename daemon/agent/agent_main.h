// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "colltune/kernels/implementation.h"

namespace colltune {

/// Runs the program `colltune-agent` with the implementations that `make_catalogue` returns. Call
/// it first in main. Returns the exit code.
[[nodiscard]] int run_agent(int argc, char** argv,
                            const std::function<Implementations()>& make_catalogue);

}  // namespace colltune
