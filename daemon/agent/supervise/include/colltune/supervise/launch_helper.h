// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace colltune {

/// A supervisor starts its own program again in two small roles, between itself and the launcher
/// (README.md beside this target says why). Every program that calls supervise() calls this first
/// thing in main and returns the code, if there is one.
[[nodiscard]] std::optional<int> run_launch_helper(int argc, char** argv);

}  // namespace colltune
