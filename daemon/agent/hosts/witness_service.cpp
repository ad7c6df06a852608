// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "witness_service.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "colltune/flight/process_status.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int backlog = 8;

std::optional<WitnessListener> listen_on(const sockaddr_storage& address, socklen_t size) {
  WitnessListener listener{.socket = Descriptor(socket(
                               address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))};
  const int fd = listener.socket.get();
  const int off = 0;
  if (address.ss_family == AF_INET6 &&
      setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0)
    return std::nullopt;
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(fd, backlog) != 0)
    return std::nullopt;
  sockaddr_in6 bound{};  // the port is at the same place in both families
  socklen_t bound_size = sizeof bound;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &bound_size) != 0) return std::nullopt;
  listener.port = ntohs(bound.sin6_port);
  return listener;
}

bool is_stopped(const WitnessedRank& rank) {
  const auto status = read_process_status(rank.pid);
  return status && status->start_ticks == rank.start_ticks &&
         (status->state == 'T' || status->state == 't');
}

/// A connection that has not yet shown the whole token.
struct Candidate {
  Descriptor socket;
  std::string said;
  Clock::time_point end;
};

class Service {
 public:
  Service(const WitnessTask& task, const Descriptor& channel, WitnessListener listener,
          const WitnessTimes& times)
      : task_(task), channel_(channel), listener_(std::move(listener)), times_(times) {}

  void run() {
    if (!await_supervisor()) return;
    listener_.socket = Descriptor();
    while (report() && is_wanted()) continue;
  }

 private:
  enum class News { none, some, end };

  /// Waits until there is something at `socket`, the owner is gone (`end`), or `until` is reached.
  [[nodiscard]] News wait(const Descriptor& socket, Clock::time_point until) const {
    for (;;) {
      std::array<pollfd, 2> polled{pollfd{channel_.get(), POLLIN, 0},
                                   pollfd{socket.get(), POLLIN, 0}};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      const int found = poll(polled.data(), polled.size(),
                             static_cast<int>(std::max<std::int64_t>(0, left.count())));
      if (found < 0 && errno == EINTR) continue;
      if (found < 0 || polled[0].revents != 0) return News::end;
      return found > 0 ? News::some : News::none;
    }
  }

  /// Whether the supervisor has connected.
  [[nodiscard]] bool await_supervisor() {
    const auto end = Clock::now() + times_.supervisor;
    std::optional<Candidate> candidate;
    const std::string introduction = task_.token + "\n";
    while (Clock::now() < end) {
      const News news = wait(candidate ? candidate->socket : listener_.socket,
                             candidate ? std::min(end, candidate->end) : end);
      if (news == News::end) return false;
      if (news == News::none) {
        candidate.reset();
      } else if (!candidate) {
        candidate = accept_one();
        if (candidate && !candidate->socket) return false;
      } else if (!hear(*candidate, introduction)) {
        candidate.reset();
      } else if (candidate->said == introduction) {
        connection_ = std::move(candidate->socket);
        return true;
      }
    }
    return false;
  }

  /// Empty if the connection was gone again; without a socket if none can be accepted.
  [[nodiscard]] std::optional<Candidate> accept_one() const {
    Candidate candidate{.socket = Descriptor(accept4(listener_.socket.get(), nullptr, nullptr,
                                                     SOCK_NONBLOCK | SOCK_CLOEXEC)),
                        .end = Clock::now() + times_.introduction};
    const bool is_passing = errno == EAGAIN || errno == ECONNABORTED || errno == EINTR;
    if (!candidate.socket && is_passing) return std::nullopt;
    return candidate;
  }

  /// Whether what the candidate has said so far is the beginning of the introduction.
  [[nodiscard]] static bool hear(Candidate& candidate, std::string_view introduction) {
    std::array<char, 256> buffer{};
    const std::size_t wanted = std::min(buffer.size(), introduction.size() - candidate.said.size());
    const ssize_t size = recv(candidate.socket.get(), buffer.data(), wanted, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (size <= 0) return false;
    candidate.said.append(buffer.data(), static_cast<std::size_t>(size));
    return introduction.starts_with(candidate.said);
  }

  /// Waits until the next look is due; whether there will be one. The supervisor says nothing more
  /// before it goes.
  [[nodiscard]] bool is_wanted() const {
    return wait(connection_, Clock::now() + times_.between_looks) == News::none;
  }

  /// Whether the supervisor can be told. A report that does not fit into the connection is left
  /// out, since the next one says the same.
  [[nodiscard]] bool report() {
    std::string line = "stopped";
    for (const WitnessedRank& rank : task_.ranks)
      if (is_stopped(rank)) line += " " + std::to_string(rank.rank);
    line += "\n";
    const bool is_news = std::exchange(has_stopped_, line != nothing) || line != nothing;
    if (!is_news) return true;
    const ssize_t sent =
        send(connection_.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent == static_cast<ssize_t>(line.size()) ||
           (sent < 0 && (errno == EAGAIN || errno == EINTR));
  }

  static constexpr std::string_view nothing = "stopped\n";

  const WitnessTask& task_;
  const Descriptor& channel_;
  WitnessListener listener_;
  WitnessTimes times_;
  Descriptor connection_;
  bool has_stopped_ = false;  ///< at the last look some rank was stopped
};

}  // namespace

std::optional<WitnessListener> listen_for_supervisor() {
  sockaddr_storage both{};
  both.ss_family = AF_INET6;  // and any address and port: both are zeros
  if (auto listener = listen_on(both, sizeof(sockaddr_in6))) return listener;
  sockaddr_storage old{};
  old.ss_family = AF_INET;
  return listen_on(old, sizeof(sockaddr_in));
}

void serve_supervisor(const WitnessTask& task, const Descriptor& channel, WitnessListener listener,
                      const WitnessTimes& times) {
  Service(task, channel, std::move(listener), times).run();
}

}  // namespace colltune
