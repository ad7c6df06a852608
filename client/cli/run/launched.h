// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tuned_launch.h"

namespace colltune {

/// Becomes `command` with `variables` in its environment: its signals and its exit code are its
/// own. Throws Error(invalid_argument) if it cannot be started.
[[noreturn]] void become(const std::vector<std::string>& command, const Variables& variables);

/// How a program ended.
struct CommandEnd {
  int code =
      0;  ///< what a shell calls its exit status: 128 and the signal's number if one ended it
  int signal = 0;  ///< one that this process got meanwhile and passed on; 0: none
  std::chrono::nanoseconds took{};
};

/// Runs `command` with `variables` in its environment, and passes signals on to it. Throws
/// Error(invalid_argument) if it cannot be started.
[[nodiscard]] CommandEnd launch(const std::vector<std::string>& command, const Variables& variables);

}  // namespace colltune
