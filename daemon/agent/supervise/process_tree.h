// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <vector>

namespace colltune {

/// From now on, descendants of this process whose parent dies become its children, so that none
/// escapes.
void adopt_orphans();

/// All descendants of this process according to /proc, including zombies.
[[nodiscard]] std::vector<pid_t> find_descendants();

/// Reaps every child that has ended, and passes its pid and wait status to `tell`.
void reap_children(const std::function<void(pid_t, int)>& tell);

/// SIGKILL acts at once, unless a process is stuck in the kernel (a dead network file system).
inline constexpr std::chrono::milliseconds patience_with_killed{5000};

/// Sends SIGKILL to descendants, and to those that they start meanwhile, until none is left or
/// `patience` is over. Returns those that are left: stuck in the kernel, or of another user.
[[nodiscard]] std::vector<pid_t> kill_descendants(std::chrono::milliseconds patience,
                                                  const std::function<void(pid_t, int)>& tell);

/// Waits until no descendant is left, or `patience` is over.
void await_descendants(std::chrono::milliseconds patience,
                       const std::function<void(pid_t, int)>& tell);

}  // namespace colltune
