// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

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
  int code = 0;    ///< its exit code; as in a shell 128 and the signal's number if one ended it
  int signal = 0;  ///< one that this process got meanwhile and passed on; 0: none
  std::chrono::nanoseconds took{};
};

/// Holds back the signals that are passed on to a command, as long as it lives. Made before any
/// other thread: one that does not hold them back would take them.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  [[nodiscard]] const sigset_t& held() const { return held_; }
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t held_{};
  sigset_t before_{};
};

/// Runs `command` with `variables` in its environment, and passes the held signals on to it. Throws
/// Error(invalid_argument) if it cannot be started.
[[nodiscard]] CommandEnd launch(const std::vector<std::string>& command, const Variables& variables,
                                const HeldSignals& signals);

}  // namespace colltune
