// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/hosts/host_watch.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "colltune/machine/descriptor.h"

namespace colltune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint16_t port = 22;
// The most connections at once: some systems allow few descriptors.
constexpr std::size_t at_once = 128;

/// Whether `error` shows an answer of the host: it accepted or refused the connection.
bool is_answer(int error) { return error == 0 || error == ECONNREFUSED || error == ECONNRESET; }

int error_of(const Descriptor& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

/// One connection attempt under way.
struct Attempt {
  Descriptor socket;
  bool is_over = false;
  bool has_answered = false;

  void end(int error) {
    is_over = true;
    has_answered = is_answer(error);
  }
};

/// Whether each address answers.
std::vector<bool> ask(std::span<const HostAddress> peers) {
  std::vector<Attempt> attempts(peers.size());
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    const sockaddr_storage address = peers[i].with_port(port);
    attempts[i].socket =
        Descriptor(socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!attempts[i].socket)
      attempts[i].end(0);  // it cannot be probed, so it is not reported
    else if (connect(attempts[i].socket.get(), reinterpret_cast<const sockaddr*>(&address),
                     peers[i].address_size) == 0)
      attempts[i].end(0);
    else if (errno != EINPROGRESS)
      attempts[i].end(errno);
  }
  const auto end = Clock::now() + HostWatch::patience;
  for (;;) {
    std::vector<pollfd> polled;
    for (const Attempt& attempt : attempts)
      if (!attempt.is_over)
        polled.push_back({.fd = attempt.socket.get(), .events = POLLOUT, .revents = 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (polled.empty() || left <= 0) break;
    if (poll(polled.data(), polled.size(), static_cast<int>(left)) < 0 && errno != EINTR) break;
    for (Attempt& attempt : attempts) {
      const auto at = std::ranges::find(polled, attempt.socket.get(), &pollfd::fd);
      if (!attempt.is_over && at != polled.end() && at->revents != 0)
        attempt.end(error_of(attempt.socket));
    }
  }
  std::vector<bool> answers;
  for (const Attempt& attempt : attempts) answers.push_back(attempt.has_answered);
  return answers;
}

}  // namespace

HostWatch::HostWatch(std::vector<HostAddress> hosts) : peers_(std::move(hosts)) {
  silent_from_the_start_ = find_silent();
  std::erase_if(peers_, [&](const HostAddress& peer) {
    return std::ranges::find(silent_from_the_start_, peer.host) != silent_from_the_start_.end();
  });
}

std::vector<LaunchHost> HostWatch::find_silent() const {
  std::vector<LaunchHost> silent;
  for (std::size_t begin = 0; begin < peers_.size(); begin += at_once) {
    const auto asked = std::span(peers_).subspan(begin, std::min(at_once, peers_.size() - begin));
    const std::vector<bool> answers = ask(asked);
    for (std::size_t i = 0; i < asked.size(); ++i)
      if (!answers[i]) silent.push_back(asked[i].host);
  }
  return silent;
}

}  // namespace colltune
