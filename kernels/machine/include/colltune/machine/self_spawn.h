// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace colltune {

/// Starts this same program with `arguments` (the first is its name) in a process group of its own,
/// with the given signal mask. Its standard input is `input`; if that is negative, nothing. Throws
/// Error(unavailable).
[[nodiscard]] pid_t spawn_self(const std::vector<std::string>& arguments,
                               const std::vector<std::string>& environment, const sigset_t& mask,
                               int input = -1);

/// This process's environment.
[[nodiscard]] std::vector<std::string> own_environment();

/// Null-terminated, for exec. The pointers point into `texts`.
[[nodiscard]] std::vector<char*> pointers_to(const std::vector<std::string>& texts);

/// Blocks the signals. Returns the previous mask.
sigset_t block_signals(std::initializer_list<int> signals);

}  // namespace colltune
