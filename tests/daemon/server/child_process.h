// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace colltune::literals {

/// A program that was started with its stdout and stderr in pipes; killed where it still runs at
/// the end. No wait is longer than half a minute.
class ChildProcess {
 public:
  /// `environment` ("NAME=value") is added to this process's own.
  explicit ChildProcess(std::vector<std::string> command,
                        std::vector<std::string> environment = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The next line of stdout, or of stderr; empty at the end of the stream or after the limit.
  std::string read_line() { return next_line(out_, out_rest_); }
  std::string read_log_line() { return next_line(err_, err_rest_); }
  /// Reads stderr until a line holds `text`, and returns it; empty where none comes.
  std::string read_log_until(const std::string& text);
  void signal(int number);
  /// The exit code, 128 + the signal that ended it, or -1 where it still runs at the limit.
  int wait();

 private:
  static std::string next_line(int descriptor, std::string& rest);

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::string out_rest_;
  std::string err_rest_;
};

}  // namespace colltune::literals
