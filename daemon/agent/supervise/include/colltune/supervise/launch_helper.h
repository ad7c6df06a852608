// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace colltune {

/// A supervisor starts its own program again in two small roles, between itself and the launcher
/// (the README.md of this target says why); a rank does so in a third one, Witness. Every program
/// that calls supervise() or starts a Witness calls this first in main and, if it returns a code,
/// returns that.
[[nodiscard]] std::optional<int> run_launch_helper(int argc, char** argv);

}  // namespace colltune
