// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "colltune/machine/descriptor.h"

namespace colltune {

// The keeper is a process between the supervisor and the launcher. It starts the launch, ends it
// when the supervisor asks or dies, and leaves no process behind.

/// From the supervisor to the keeper, one packet each.
struct KeeperCommand {
  enum class Kind : std::int32_t {
    pass_signal = 1,  ///< send signal `value` to the launch's process group
    end = 2,          ///< SIGTERM to the group; after `value` ms SIGKILL to all that is left
    kill = 3,         ///< SIGKILL to all now
  };
  Kind kind{};
  std::int32_t value = 0;
};

/// From the keeper to the supervisor, one packet each.
struct KeeperReport {
  enum class Kind : std::int32_t {
    started = 1,  ///< the first report: the launcher's pid is `value`
    left = 2,     ///< process `value` could not be killed
    ended = 3,    ///< the last report: all processes are gone, the launcher's wait status is
                  ///< `value`
  };
  Kind kind{};
  std::int32_t value = 0;
};

/// The first arguments of this program in its two helper roles; see launch_helper.h.
constexpr const char* keep_launch_role = "--colltune-keep-launch";
constexpr const char* exec_launch_role = "--colltune-exec-launch";

/// Runs the keeper. `arguments` are the descriptors of the channel and of the supervisor's lock,
/// and the launch's command. Returns the keeper's exit code.
[[nodiscard]] int keep_launch(const std::vector<std::string>& arguments);

/// Runs as the launcher until exec. `arguments` are the keeper's pid and the command. Ties the
/// process to the keeper's life, then executes the command; returns only if that fails.
[[nodiscard]] int exec_launch(const std::vector<std::string>& arguments);

}  // namespace colltune
