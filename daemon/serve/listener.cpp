// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

constexpr int socket_type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr int longest_queue = 1024;
/// For the owner and the group alone.
constexpr mode_t socket_mode = 0660;
/// A lock file may vanish while it is opened: its holder removes it at the end.
constexpr int most_lock_attempts = 100;

[[noreturn]] void fail(const ListenAddress& address, const std::string& why,
                       StatusCode code = StatusCode::failed_precondition) {
  throw Error(code, "cannot listen on " + to_string(address) + ": " + why);
}

[[noreturn]] void fail_taken(const ListenAddress& address) {
  fail(address, "another process listens there", StatusCode::already_exists);
}

[[noreturn]] void fail_errno(const ListenAddress& address, int number) {
  fail(address, errno_text(number),
       number == EADDRINUSE ? StatusCode::already_exists : StatusCode::failed_precondition);
}

sockaddr_un socket_address(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  return address;
}

bool is_same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// Removes what a killed daemon left behind. The lock is held, so that a listener found here is of
/// another program, or of a daemon from before there was a lock.
void clear_stale_socket(const ListenAddress& address) {
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(address.socket, ignored);
  if (!std::filesystem::exists(status)) return;
  if (!std::filesystem::is_socket(status)) fail(address, "the file exists and is no socket");
  const sockaddr_un where = socket_address(address.socket);
  // Non-blocking: a listener with a full queue says EAGAIN, which means that it is there.
  const FileDescriptor probe(::socket(AF_UNIX, socket_type, 0));
  if (probe.get() < 0) fail_errno(address, errno);
  const bool is_refused =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 &&
      errno == ECONNREFUSED;
  if (!is_refused) fail_taken(address);
  std::filesystem::remove(address.socket);
}

std::uint16_t port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size);
  if (bound.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &bound, sizeof six);
    return ntohs(six.sin6_port);
  }
  sockaddr_in four{};
  std::memcpy(&four, &bound, sizeof four);
  return ntohs(four.sin_port);
}

}  // namespace

std::string errno_text(int number) { return std::system_category().message(number); }

void FileDescriptor::reset() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

Listener::Listener(const ListenAddress& address) : address_(address) {
  if (address_.is_unix())
    listen_unix();
  else
    listen_tcp();
}

Listener::~Listener() {
  if (!lock_.is_held()) return;  // no Unix socket, or moved from
  struct stat present {};
  if (::lstat(address_.socket.c_str(), &present) == 0 && present.st_dev == device_ &&
      present.st_ino == inode_)
    ::unlink(address_.socket.c_str());
}

LockFile::~LockFile() {
  if (is_held()) ::unlink(path_.c_str());
}

void Listener::lock() {
  auto path = address_.socket;
  path += ".lock";
  for (int attempt = 0; attempt < most_lock_attempts; ++attempt) {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.get() < 0)
      fail(address_, "cannot open the lock file " + path.string() + ": " + errno_text(errno));
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) fail_taken(address_);
      fail(address_, "cannot lock " + path.string() + ": " + errno_text(errno));
    }
    struct stat locked {};
    struct stat present {};
    if (::fstat(file.get(), &locked) == 0 && ::lstat(path.c_str(), &present) == 0 &&
        is_same_file(locked, present)) {
      lock_ = LockFile(path, std::move(file));
      return;
    }
  }
  fail(address_, "the lock file " + path.string() + " vanishes as often as it is made");
}

void Listener::listen_unix() {
  std::error_code ignored;
  if (!std::filesystem::is_directory(address_.socket.parent_path(), ignored))
    fail(address_, "the folder " + address_.socket.parent_path().string() + " does not exist");
  lock();
  clear_stale_socket(address_);
  FileDescriptor socket(::socket(AF_UNIX, socket_type, 0));
  // Before the bind: the file is never open to all, not even for a moment.
  if (socket.get() < 0 || ::fchmod(socket.get(), socket_mode) != 0) fail_errno(address_, errno);
  const sockaddr_un where = socket_address(address_.socket);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
    fail_errno(address_, errno);
  struct stat bound {};
  if (::lstat(address_.socket.c_str(), &bound) == 0) {
    device_ = bound.st_dev;
    inode_ = bound.st_ino;
  }
  // The process's mask may have taken from the group.
  if (::chmod(address_.socket.c_str(), socket_mode) != 0 ||
      ::listen(socket.get(), longest_queue) != 0)
    fail_errno(address_, errno);
  sockets_.push_back(std::move(socket));
}

void Listener::listen_tcp() {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failure =
      ::getaddrinfo(address_.host.c_str(), std::to_string(address_.port).c_str(), &wanted, &list);
  if (failure != 0) fail(address_, ::gai_strerror(failure));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  int last_error = 0;
  for (addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    FileDescriptor socket(::socket(entry->ai_family, socket_type, entry->ai_protocol));
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // All of a name's addresses have the port that the first one got.
    if (!sockets_.empty()) {
      const std::uint16_t port = htons(address_.port);
      auto* const where = reinterpret_cast<unsigned char*>(entry->ai_addr);
      std::memcpy(where + offsetof(sockaddr_in, sin_port), &port, sizeof port);
    }
    if (socket.get() < 0 || ::bind(socket.get(), entry->ai_addr, entry->ai_addrlen) != 0 ||
        ::listen(socket.get(), longest_queue) != 0) {
      last_error = errno;
      // A host without IPv6 has names for it all the same.
      if (last_error == EADDRNOTAVAIL || last_error == EAFNOSUPPORT) continue;
      fail_errno(address_, last_error);
    }
    address_.port = port_of(socket.get());
    sockets_.push_back(std::move(socket));
  }
  if (sockets_.empty()) fail_errno(address_, last_error);
}

}  // namespace colltune
