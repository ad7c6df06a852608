// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launch.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "colltune/machine/self_spawn.h"
#include "colltune/vocabulary/error.h"
#include "process_tree.h"

namespace colltune {
namespace {

// Keepalive of Open MPI's control network between mpirun and its daemons: seconds until the first
// probe, seconds between probes, and the number of probes that may fail.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> keepalive{
    {{"OMPI_MCA_oob_tcp_keepalive_time", "2"},
     {"OMPI_MCA_oob_tcp_keepalive_intvl", "1"},
     {"OMPI_MCA_oob_tcp_keepalive_probes", "3"}}};

}  // namespace

std::vector<std::string> launch_environment(std::vector<std::string> own,
                                            const LaunchSupervisor& supervisor) {
  for (const auto& [name, value] : keepalive) {
    const std::string prefix = std::string(name) + "=";
    if (std::ranges::none_of(own,
                             [&](const std::string& entry) { return entry.starts_with(prefix); }))
      own.push_back(prefix + std::string(value));
  }
  own.push_back(std::string(supervised_variable) + "=" + to_variable(supervisor));
  return own;
}

SupervisedLaunch::SupervisedLaunch(const std::vector<std::string>& command, const sigset_t& mask,
                                   const LaunchSupervisor& supervisor,
                                   const SupervisionLock& lock) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw Error(StatusCode::unavailable,
                std::string("cannot start the launch: socketpair: ") + std::strerror(errno));
  channel_ = Descriptor(ends[0]);
  const Descriptor keepers_end(ends[1]);
  fcntl(keepers_end.get(), F_SETFD, 0);
  const Descriptor keepers_hold = lock.hold_for_child();
  std::vector<std::string> arguments{"colltune-keeper", keep_launch_role,
                                     std::to_string(keepers_end.get()),
                                     std::to_string(keepers_hold.get())};
  arguments.insert(arguments.end(), command.begin(), command.end());
  [[maybe_unused]] const pid_t keeper =
      spawn_self(arguments, launch_environment(own_environment(), supervisor), mask);
}

void SupervisedLaunch::tell(const KeeperCommand& command) {
  if (!has_ended()) send(channel_.get(), &command, sizeof command, MSG_NOSIGNAL);
}

void SupervisedLaunch::end(std::chrono::milliseconds patience) {
  if (std::exchange(is_ending_, true)) return;
  tell({KeeperCommand::Kind::end, static_cast<std::int32_t>(patience.count())});
}

void SupervisedLaunch::take_reports(std::chrono::milliseconds patience) {
  while (!has_ended()) {
    KeeperReport report;
    const ssize_t size = recv(channel_.get(), &report, sizeof report, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    // The keeper ended with a command unread. The socket reports that once, before the reports that
    // the keeper left.
    if (size < 0 && errno == ECONNRESET) continue;
    if (size != sizeof report) {
      clean_up_after_keeper(patience);
      return;
    }
    switch (report.kind) {
      case KeeperReport::Kind::started:
        launcher_ = report.value;
        break;
      case KeeperReport::Kind::left:
        left_.push_back(report.value);
        break;
      case KeeperReport::Kind::ended:
        status_ = report.value;
        await_descendants(patience_with_killed, [](pid_t, int) {});  // lets the keeper exit
        break;
    }
  }
}

void SupervisedLaunch::clean_up_after_keeper(std::chrono::milliseconds patience) {
  // The launcher was told to end when the keeper died, and is now a child of this process.
  const auto forget = [](pid_t, int) {};
  await_descendants(patience, forget);
  left_ = kill_descendants(patience_with_killed, forget);
  status_ = SIGKILL;
}

}  // namespace colltune
