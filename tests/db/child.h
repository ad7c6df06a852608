// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "colltune/vocabulary/error.h"

namespace colltune::test {

/// A child process that runs `body` with the writing end of a pipe, then exits without cleaning up.
class Child {
 public:
  explicit Child(const std::function<void(int)>& body) {
    int ends[2] = {};
    if (pipe(ends) != 0) throw Error(StatusCode::internal, "pipe failed");
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      try {
        body(ends[1]);
      } catch (...) {
        _exit(1);
      }
      _exit(0);
    }
    close(ends[1]);
    pipe_ = ends[0];
  }
  ~Child() {
    kill_now();
    close(pipe_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The next number that the child reported; -1 at its end.
  int next() const {
    int value = -1;
    return read(pipe_, &value, sizeof value) == sizeof value ? value : -1;
  }
  void kill_now() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

/// In the child: tells the parent a number.
inline void report(int pipe, int value) {
  if (write(pipe, &value, sizeof value) != sizeof value) _exit(2);
}

}  // namespace colltune::test
