// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launched.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The environment of this process with `variables` in it.
std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> all;
  for (char* const* entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    bool is_set_anew = false;
    for (const auto& [set, value] : variables) is_set_anew = is_set_anew || set == name;
    if (!is_set_anew) all.emplace_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(name + '=' + value);
  return all;
}

[[noreturn]] void refuse(const std::vector<std::string>& command, int error) {
  throw Error(StatusCode::invalid_argument,
              fmt::format("'{}' cannot be started: {}", command.front(), std::strerror(error)));
}

}  // namespace

void become(const std::vector<std::string>& command, const Variables& variables) {
  std::vector<std::string> words = command;
  std::vector<std::string> entries = environment_with(variables);
  ::execvpe(words.front().c_str(), pointers_to(words).data(), pointers_to(entries).data());
  refuse(command, errno);
}

// Signals are taken one by one in `launch`, so that none is lost between looking and waiting.
HeldSignals::HeldSignals() {
  ::sigemptyset(&held_);
  for (const int one : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2})
    ::sigaddset(&held_, one);
  ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
}
HeldSignals::~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

CommandEnd launch(const std::vector<std::string>& command, const Variables& variables,
                  const HeldSignals& signals) {
  std::vector<std::string> words = command;
  std::vector<std::string> entries = environment_with(variables);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &signals.before());
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const auto begin = std::chrono::steady_clock::now();
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, words.front().c_str(), nullptr, &attributes,
                                   pointers_to(words).data(), pointers_to(entries).data());
  ::posix_spawnattr_destroy(&attributes);
  CommandEnd end;
  int status = 0;
  while (error == 0 && ::waitpid(child, &status, WNOHANG) == 0) {
    siginfo_t got{};
    if (::sigwaitinfo(&signals.held(), &got) <= 0 || got.si_signo == SIGCHLD) continue;
    end.signal = got.si_signo;
    // The terminal's keys reach the whole group, the child included.
    if (got.si_code != SI_KERNEL) ::kill(child, got.si_signo);
  }
  end.took = std::chrono::steady_clock::now() - begin;
  if (error != 0) refuse(command, error);
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

}  // namespace colltune
