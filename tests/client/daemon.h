// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>

#include "process.h"

namespace colltune::testing {

/// The program `colltuned` as a process over a database, on a socket in `folder`; ends with the
/// object.
class DaemonProcess {
 public:
  DaemonProcess(const TemporaryFolder& folder, const std::string& database)
      : address("unix:" + folder.file("socket")),
        out_(folder.file("out")),
        errors_(folder.file("err")),
        pid_(start_process({COLLTUNED_PROGRAM, "--db", database, "--listen", address}, out_,
                           errors_)) {}
  ~DaemonProcess() {
    ::kill(pid_, SIGTERM);
    wait_for_process(pid_);
  }
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  /// Returns once the daemon says that it listens; throws where it ends or says nothing.
  void wait_until_ready() const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (read_file(out_).find("listening on") == std::string::npos) {
      if (std::chrono::steady_clock::now() > deadline || ::waitpid(pid_, nullptr, WNOHANG) != 0)
        throw std::runtime_error("colltuned is not ready: " + read_file(errors_));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  const std::string address;

 private:
  std::string out_;
  std::string errors_;
  pid_t pid_ = 0;
};

}  // namespace colltune::testing
