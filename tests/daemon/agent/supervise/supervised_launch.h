// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "temporary_folder.h"

namespace colltune::literals {

/// A supervisor (supervise_driver) over fake agents, in a folder of its own. All its processes
/// carry a mark in their environment by which /proc shows them, wherever they were adopted.
class SupervisedLaunch {
 public:
  /// `launcher` precedes the fake agent; `fault` are its arguments behind the database.
  SupervisedLaunch(const std::vector<std::string>& launcher, const std::vector<std::string>& fault);
  /// A command of its own instead of the fake agent.
  explicit SupervisedLaunch(const std::vector<std::string>& command);
  /// A second supervisor on the database of `other`, with a mark of its own.
  SupervisedLaunch(const SupervisedLaunch& other, const std::vector<std::string>& fault);
  ~SupervisedLaunch();
  SupervisedLaunch(const SupervisedLaunch&) = delete;
  SupervisedLaunch& operator=(const SupervisedLaunch&) = delete;

  /// The driver's exit code; 128 + the signal that ended it. -1 after a minute.
  int wait();
  void signal(int number) const;
  [[nodiscard]] pid_t driver() const { return driver_; }

  /// Lines of the file DB.`what`.
  [[nodiscard]] std::vector<std::string> lines(const std::string& what) const;
  [[nodiscard]] std::string log() const;
  [[nodiscard]] bool has(const std::string& what) const;
  /// Makes the file DB.`what`.
  void touch(const std::string& what) const;

  /// Processes with the mark that still run.
  [[nodiscard]] std::vector<pid_t> processes() const;
  /// One of them that is a child of `parent`; 0 where there is none. The driver's child is the
  /// keeper, the keeper's the launcher.
  [[nodiscard]] pid_t child_of(pid_t parent) const;

 private:
  void start_fake_agent(const std::vector<std::string>& launcher,
                        const std::vector<std::string>& fault);
  void start(std::vector<std::string> command);

  TemporaryFolder folder_;
  std::string database_;
  std::string mark_;
  pid_t driver_ = -1;
};

/// Waits, at most a minute, until `condition` holds; returns whether it does.
bool comes_true(const std::function<bool()>& condition);

}  // namespace colltune::literals
