// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "keeper.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "colltune/machine/self_spawn.h"
#include "colltune/vocabulary/error.h"
#include "process_tree.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A launcher that has ended may leave helpers that are about to end (ssh, a fork server).
constexpr auto patience_with_leftovers = 500ms;
// SuperviseOptions::patience for the case that the supervisor is gone.
constexpr auto patience_without_supervisor = 3000ms;

class Keeper {
 public:
  Keeper(Descriptor channel, Descriptor lock)
      : channel_(std::move(channel)), lock_(std::move(lock)) {}

  int run(const std::vector<std::string>& command) {
    const sigset_t inherited =
        block_signals({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE});
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    const Descriptor signals(signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
    adopt_orphans();
    std::vector<std::string> arguments{"colltune-launch", exec_launch_role,
                                       std::to_string(getpid())};
    arguments.insert(arguments.end(), command.begin(), command.end());
    launcher_ = spawn_self(arguments, own_environment(), inherited);
    report({KeeperReport::Kind::started, launcher_});
    while (!status_ && !(kill_at_ && Clock::now() >= *kill_at_)) wait_for_news(signals);
    clean_up();
    return 0;
  }

 private:
  void wait_for_news(const Descriptor& signals) {
    int time_out = -1;
    if (kill_at_)
      time_out = static_cast<int>(std::max<std::int64_t>(
          0, std::chrono::ceil<std::chrono::milliseconds>(*kill_at_ - Clock::now()).count()));
    std::array<pollfd, 2> news{pollfd{channel_.get(), POLLIN, 0}, pollfd{signals.get(), POLLIN, 0}};
    if (poll(news.data(), news.size(), time_out) < 0) return;
    if (news[0].revents != 0) take_command();
    signalfd_siginfo ignored{};
    while (read(signals.get(), &ignored, sizeof ignored) > 0) continue;
    reap();
  }

  void take_command() {
    KeeperCommand command;
    if (recv(channel_.get(), &command, sizeof command, 0) != sizeof command) {
      channel_ = Descriptor();  // the supervisor is dead
      end(patience_without_supervisor);
      return;
    }
    switch (command.kind) {
      case KeeperCommand::Kind::pass_signal:
        signal_launch(command.value);
        return;
      case KeeperCommand::Kind::end:
        end(std::chrono::milliseconds(command.value));
        return;
      case KeeperCommand::Kind::kill:
        kill_at_ = Clock::now();
        return;
    }
  }

  void end(std::chrono::milliseconds patience) {
    signal_launch(SIGTERM);
    signal_launch(SIGCONT);  // a stopped process takes no SIGTERM
    const auto when = Clock::now() + patience;
    kill_at_ = kill_at_ ? std::min(*kill_at_, when) : when;
  }

  void signal_launch(int signal) const {
    // Safe: the launcher is not reaped yet, so no other process can have its pid. Its process group
    // may not exist for a moment.
    if (!status_ && ::kill(-launcher_, signal) != 0) ::kill(launcher_, signal);
  }

  void reap() {
    reap_children([this](pid_t pid, int status) {
      if (pid == launcher_) status_ = status;
    });
  }

  void clean_up() {
    const auto note = [this](pid_t pid, int status) {
      if (pid == launcher_) status_ = status;
    };
    if (status_) await_descendants(patience_with_leftovers, note);
    for (const pid_t left : kill_descendants(patience_with_killed, note))
      report({KeeperReport::Kind::left, left});
    report({KeeperReport::Kind::ended, status_.value_or(SIGKILL)});
  }

  void report(const KeeperReport& report) const {
    if (channel_) send(channel_.get(), &report, sizeof report, MSG_NOSIGNAL);
  }

  Descriptor channel_;
  Descriptor lock_;  ///< held until this process ends; by then the launch has no processes left
  pid_t launcher_ = 0;
  std::optional<int> status_;  ///< the launcher's, once it has ended
  std::optional<Clock::time_point> kill_at_;
};

int complain(const std::string& message) {
  fmt::print(stderr, "colltune-agent supervise: {}\n", message);
  return 127;  // the code with which a shell reports a missing command
}

}  // namespace

int keep_launch(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3) return complain("this option is for the supervisor alone");
  Descriptor channel(std::atoi(arguments[0].c_str()));
  Descriptor lock(std::atoi(arguments[1].c_str()));
  for (const Descriptor* const inherited : {&channel, &lock})
    fcntl(inherited->get(), F_SETFD, FD_CLOEXEC);
  try {
    return Keeper(std::move(channel), std::move(lock))
        .run({arguments.begin() + 2, arguments.end()});
  } catch (const Error& error) {
    return complain(error.what());
  }
}

int exec_launch(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) return complain("this option is for the supervisor alone");
  // If the keeper is killed, the launcher is told to end its ranks; the supervisor does the rest.
  prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  if (getppid() != std::atoi(arguments.front().c_str())) return complain("the keeper is gone");
  const std::vector<std::string> command(arguments.begin() + 1, arguments.end());
  execvp(command.front().c_str(), pointers_to(command).data());
  return complain(fmt::format("cannot start '{}': {}", command.front(), std::strerror(errno)));
}

}  // namespace colltune
