// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace colltune::literals {
namespace {

constexpr int limit_ms = 30'000;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> command, std::vector<std::string> environment) {
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  const int failure = ::posix_spawn(&pid_, command.front().c_str(), &actions, nullptr,
                                    pointers(command).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(out[1]);
  ::close(err[1]);
  out_ = out[0];
  err_ = err[0];
  if (failure != 0) throw std::runtime_error("cannot start " + command.front());
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(out_);
  ::close(err_);
}

std::string ChildProcess::next_line(int descriptor, std::string& rest) {
  while (true) {
    if (const auto end = rest.find('\n'); end != std::string::npos) {
      std::string line = rest.substr(0, end);
      rest.erase(0, end + 1);
      return line;
    }
    pollfd waited{.fd = descriptor, .events = POLLIN, .revents = 0};
    char buffer[4096];
    if (::poll(&waited, 1, limit_ms) <= 0) return {};
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count <= 0) return std::exchange(rest, {});
    rest.append(buffer, static_cast<std::size_t>(count));
  }
}

std::string ChildProcess::read_log_until(const std::string& text) {
  while (true) {
    std::string line = read_log_line();
    if (line.empty() || line.find(text) != std::string::npos) return line;
  }
}

void ChildProcess::signal(int number) { ::kill(pid_, number); }

int ChildProcess::wait() {
  // A pidfd becomes readable when the process ends: a wait with a limit and without polling.
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pollfd waited{.fd = descriptor, .events = POLLIN, .revents = 0};
  const bool has_ended = descriptor >= 0 && ::poll(&waited, 1, limit_ms) > 0;
  ::close(descriptor);
  if (!has_ended) return -1;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace colltune::literals
