// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "colltune/machine/descriptor.h"

namespace colltune {

// The keeper is a process between supervisor and launcher. It starts the launch, ends it when the
// supervisor says so or dies, and leaves no process behind.

/// From the supervisor to the keeper, one packet each.
struct KeeperCommand {
  enum class Kind : std::int32_t {
    pass_signal = 1,  ///< `value` to the launch's process group
    end = 2,          ///< SIGTERM to the group; SIGKILL to all that is left after `value` ms
    kill = 3,         ///< SIGKILL to all now
  };
  Kind kind{};
  std::int32_t value = 0;
};

/// From the keeper to the supervisor, one packet each.
struct KeeperReport {
  enum class Kind : std::int32_t {
    started = 1,  ///< the first report: the launcher is process `value`
    left = 2,     ///< process `value` could not be killed
    ended = 3,    ///< the last report: everything is gone, the launcher's wait status is `value`
  };
  Kind kind{};
  std::int32_t value = 0;
};

/// The first arguments of this program in its two roles; see launch_helper.h.
constexpr const char* keep_launch_role = "--colltune-keep-launch";
constexpr const char* exec_launch_role = "--colltune-exec-launch";

/// The keeper's life: `arguments` are the descriptors of the channel and of the supervisor's lock,
/// and the launch's command. Returns its exit code.
[[nodiscard]] int keep_launch(const std::vector<std::string>& arguments);

/// The launcher's first moments: `arguments` are the keeper's pid and the command. Binds its life
/// to the keeper's, then becomes the command; returns only where that fails.
[[nodiscard]] int exec_launch(const std::vector<std::string>& arguments);

}  // namespace colltune
