// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace colltune {

/// Set in the environment of every process that a supervisor launched.
constexpr const char* supervised_variable = "COLLTUNE_SUPERVISED";

/// The supervisor of a launch, as the processes of the launch know it.
struct LaunchSupervisor {
  std::string host;   ///< on which it runs, as that host calls itself
  std::string token;  ///< by which a witness recognizes it; only processes of the launch know it
};

/// This process as the supervisor of a launch, with a new token.
[[nodiscard]] LaunchSupervisor become_supervisor();

/// The value of the variable above, and the supervisor that it names; empty if it names none.
[[nodiscard]] std::string to_variable(const LaunchSupervisor& supervisor);
[[nodiscard]] std::optional<LaunchSupervisor> find_supervisor();

}  // namespace colltune
