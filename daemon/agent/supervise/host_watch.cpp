// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "host_watch.h"

#include <netdb.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "colltune/machine/descriptor.h"

namespace colltune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* port = "22";
// Each name that no server resolves costs seconds.
constexpr std::chrono::seconds patience_with_names{5};
// The most connections at once: some systems allow few descriptors.
constexpr std::size_t at_once = 128;

std::string own_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

struct Free {
  void operator()(addrinfo* list) const noexcept { freeaddrinfo(list); }
};

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
template <class Peers>
std::vector<bool> ask(const Peers& peers) {
  std::vector<Attempt> attempts(peers.size());
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    const auto* const address = reinterpret_cast<const sockaddr*>(&peers[i].address);
    attempts[i].socket =
        Descriptor(socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!attempts[i].socket)
      attempts[i].end(0);  // it cannot be probed, so it is not reported
    else if (connect(attempts[i].socket.get(), address, peers[i].address_size) == 0)
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

HostWatch::HostWatch(const std::vector<LaunchHost>& hosts) {
  const std::string own = own_name();
  const auto end = Clock::now() + patience_with_names;
  for (const LaunchHost& host : hosts) {
    if (host.name == own || Clock::now() > end) continue;
    const addrinfo wanted{.ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    addrinfo* list = nullptr;
    if (getaddrinfo(host.name.c_str(), port, &wanted, &list) != 0) continue;
    const std::unique_ptr<addrinfo, Free> found(list);
    Peer peer{.host = host, .address_size = found->ai_addrlen};
    std::memcpy(&peer.address, found->ai_addr, found->ai_addrlen);
    peers_.push_back(std::move(peer));
  }
  silent_from_the_start_ = find_silent();
  std::erase_if(peers_, [&](const Peer& peer) {
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
