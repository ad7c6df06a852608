// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "colltune/hosts/launch_supervisor.h"
#include "colltune/machine/descriptor.h"
#include "colltune/supervise/supervision_lock.h"
#include "keeper.h"

namespace colltune {

/// The environment of a launch: this process's variables, one that names the supervisor, and
/// settings with which Open MPI notices a dead node within seconds (measured: 5.8 s, instead of
/// 480 s), unless the user set them.
[[nodiscard]] std::vector<std::string> launch_environment(std::vector<std::string> own,
                                                          const LaunchSupervisor& supervisor);

/// One launch as the supervisor controls it.
class SupervisedLaunch {
 public:
  /// Starts the launch with the signal mask `mask`; its processes know `supervisor`. Its keeper
  /// holds `lock` as long as it lives.
  /// Throws Error(unavailable).
  SupervisedLaunch(const std::vector<std::string>& command, const sigset_t& mask,
                   const LaunchSupervisor& supervisor, const SupervisionLock& lock);

  /// Readable when `take_reports` has something to take.
  [[nodiscard]] int channel() const { return channel_.get(); }
  void pass_signal(int signal) { tell({KeeperCommand::Kind::pass_signal, signal}); }
  /// Sends SIGTERM, then SIGKILL after `patience`. Only the first call counts.
  void end(std::chrono::milliseconds patience);
  void kill() { tell({KeeperCommand::Kind::kill, 0}); }

  /// Takes the keeper's reports. If the keeper itself was killed, ends the launch here.
  void take_reports(std::chrono::milliseconds patience);
  /// The launcher's pid; empty if the keeper has not started it yet.
  [[nodiscard]] std::optional<pid_t> launcher() const { return launcher_; }
  [[nodiscard]] bool has_ended() const { return status_.has_value(); }
  /// The launcher's wait status, once it has ended.
  [[nodiscard]] int status() const { return *status_; }
  /// Processes that could not be killed.
  [[nodiscard]] const std::vector<pid_t>& left() const { return left_; }

 private:
  void tell(const KeeperCommand& command);
  void clean_up_after_keeper(std::chrono::milliseconds patience);

  Descriptor channel_;
  std::optional<pid_t> launcher_;
  std::optional<int> status_;
  std::vector<pid_t> left_;
  bool is_ending_ = false;
};

}  // namespace colltune
