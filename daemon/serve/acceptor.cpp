// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "acceptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

// While there is no room: how often it is looked for.
constexpr int retry_interval_ms = 20;
// For the database's file, its log, and gRPC's own of each thread.
constexpr std::size_t reserved_descriptors = 16;
// Below that not even the server starts.
constexpr rlim_t fewest_descriptors = 48;
// Each costs some ten kilobytes.
constexpr std::size_t most_connections_ever = 16'384;

rlim_t descriptor_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

[[noreturn]] void fail_too_few(rlim_t limit) {
  throw Error(StatusCode::resource_exhausted,
              "this process may open " + std::to_string(limit) +
                  " files, which is too few to serve; allow at least " +
                  std::to_string(fewest_descriptors) + " (ulimit -n, or systemd's LimitNOFILE=)");
}

/// Whether `descriptor` still is the socket with the inode `number`. Asked by its name: it is
/// gRPC's, which may close it at this moment.
bool is_socket(int descriptor, ino_t number) {
  struct stat facts {};
  return ::stat(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), &facts) == 0 &&
         S_ISSOCK(facts.st_mode) && facts.st_ino == number;
}

bool has_no_room(int number) {
  return number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM;
}

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_cur != limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);  // where it fails, the check below says what is left
  }
  if (const rlim_t now = descriptor_limit(); now < fewest_descriptors) fail_too_few(now);
}

std::size_t room_for_connections() {
  const rlim_t limit = descriptor_limit();
  std::size_t open = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd"))
    ++open;
  if (limit <= open + reserved_descriptors) fail_too_few(limit);
  return std::min<std::size_t>(limit - open - reserved_descriptors, most_connections_ever);
}

Acceptor::Acceptor(std::vector<Listener> listeners, std::size_t most_connections,
                   Callbacks callbacks)
    : listeners_(std::move(listeners)),
      most_connections_(most_connections),
      callbacks_(std::move(callbacks)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_.get() < 0)
    throw Error(StatusCode::resource_exhausted, "no eventfd: " + errno_text(errno));
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Acceptor::~Acceptor() { stop(); }

void Acceptor::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
  listeners_.clear();
}

void Acceptor::hang_up() {
  for (const auto& [descriptor, number] : open_) {
    // One of our own: the other may be closed, and stand for something else, at any moment.
    const FileDescriptor own(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    struct stat facts {};
    if (own.get() >= 0 && ::fstat(own.get(), &facts) == 0 && S_ISSOCK(facts.st_mode) &&
        facts.st_ino == number)
      ::shutdown(own.get(), SHUT_WR);
  }
  open_.clear();
}

void Acceptor::run(const std::stop_token& stop) {
  std::vector<pollfd> waited{{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  for (const Listener& listener : listeners_)
    for (const FileDescriptor& socket : listener.sockets())
      waited.push_back({.fd = socket.get(), .events = POLLIN, .revents = 0});
  bool has_room = true;
  while (!stop.stop_requested()) {
    // Without room the listeners would be ready all the time: only the wake-up is waited for.
    ::poll(waited.data(), has_room ? waited.size() : 1, has_room ? -1 : retry_interval_ms);
    if (!has_room) {
      forget_closed();
      for (std::size_t i = 1; i < waited.size(); ++i) waited[i].revents = POLLIN;
    }
    has_room = true;
    for (std::size_t i = 1; i < waited.size() && has_room; ++i)
      if (waited[i].revents != 0) has_room = accept_all(waited[i].fd);
    if (has_room) is_full_said_ = is_refusal_said_ = false;
  }
}

bool Acceptor::accept_all(int socket) {
  while (true) {
    if (is_full()) {
      say_once(is_full_said_, std::to_string(open_.size()) +
                                  " connections are open, as many as there is room for; others "
                                  "wait until one is closed");
      return false;
    }
    FileDescriptor connection(::accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection.get() < 0) {
      const int number = errno;
      if (number == EAGAIN || number == EWOULDBLOCK) return true;
      if (number == EINTR || number == ECONNABORTED) continue;
      if (!has_no_room(number)) return true;  // that connection's own fault (accept(2) lists them)
      say_once(is_refusal_said_,
               "cannot accept connections: " + errno_text(number) + "; it is tried again");
      return false;
    }
    struct stat facts {};
    if (::fstat(connection.get(), &facts) != 0) continue;
    open_[connection.get()] = facts.st_ino;
    callbacks_.hand_over(connection.release());
  }
}

bool Acceptor::is_full() {
  if (open_.size() < most_connections_) return false;
  forget_closed();
  return open_.size() >= most_connections_;
}

void Acceptor::forget_closed() {
  std::erase_if(open_, [](const auto& one) { return !is_socket(one.first, one.second); });
}

void Acceptor::say_once(bool& is_said, const std::string& text) const {
  if (!is_said && callbacks_.warn) callbacks_.warn(text);
  is_said = true;
}

}  // namespace colltune
