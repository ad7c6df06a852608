// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/serve/listen_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

// sun_path holds the path and its final 0.
constexpr std::size_t longest_socket_path = sizeof(sockaddr_un::sun_path) - 1;

[[noreturn]] void fail(std::string_view text, const std::string& why) {
  throw Error(StatusCode::invalid_argument,
              "cannot listen on '" + std::string(text) + "': " + why +
                  "; write unix:/path/to.sock, 127.0.0.1:PORT, [::1]:PORT or localhost:PORT");
}

/// A socket that closes itself.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

ListenAddress parse_unix(std::string_view text, std::string_view path) {
  if (path.empty() || path.front() != '/') fail(text, "the socket needs an absolute path");
  if (path.size() > longest_socket_path)
    fail(text, "the path has " + std::to_string(path.size()) +
                   " bytes, the system's limit for sockets is " +
                   std::to_string(longest_socket_path));
  return {.socket = std::filesystem::path(path), .host = {}};
}

std::string errno_text(int number) { return std::system_category().message(number); }

}  // namespace

ListenAddress parse_listen_address(std::string_view text) {
  constexpr std::string_view unix_scheme = "unix:";
  if (text.starts_with(unix_scheme)) {
    std::string_view path = text.substr(unix_scheme.size());
    if (path.starts_with("///")) path.remove_prefix(2);  // unix:///path, as gRPC takes it
    return parse_unix(text, path);
  }
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) fail(text, "there is no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size())
    fail(text, "'" + std::string(digits) + "' is not a port (0 to 65535)");
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    fail(text, "an IPv6 address stands in brackets");
  }
  if (host.empty()) fail(text, "there is no host");
  return {.socket = {}, .host = std::string(host), .port = port};
}

std::string to_string(const ListenAddress& address) {
  if (address.is_unix()) return "unix:" + address.socket.string();
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return (is_ipv6 ? '[' + address.host + ']' : address.host) + ':' + std::to_string(address.port);
}

bool is_local(const ListenAddress& address) {
  if (address.is_unix() || address.host == "localhost") return true;
  in_addr four{};
  if (::inet_pton(AF_INET, address.host.c_str(), &four) == 1)
    return (ntohl(four.s_addr) >> 24U) == 127;
  in6_addr six{};
  return ::inet_pton(AF_INET6, address.host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

void clear_stale_socket(const std::filesystem::path& socket) {
  const std::string name = "unix:" + socket.string();
  std::error_code ignored;
  if (!std::filesystem::is_directory(socket.parent_path(), ignored))
    throw Error(StatusCode::failed_precondition, "cannot listen on " + name + ": the folder " +
                                                     socket.parent_path().string() +
                                                     " does not exist");
  const auto status = std::filesystem::symlink_status(socket, ignored);
  if (!std::filesystem::exists(status)) return;
  if (!std::filesystem::is_socket(status))
    throw Error(StatusCode::failed_precondition,
                "cannot listen on " + name + ": the file exists and is no socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket.c_str(), socket.native().size());
  // Non-blocking: a listener with a full queue says EAGAIN, which means that it is there.
  const Socket probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool is_refused =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno == ECONNREFUSED;
  if (!is_refused)
    throw Error(StatusCode::already_exists,
                "cannot listen on " + name + ": another process listens there");
  std::filesystem::remove(socket);
}

std::string why_not_bindable(const ListenAddress& address) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failure =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &list);
  if (failure != 0) return ::gai_strerror(failure);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    const Socket probe(::socket(entry->ai_family, entry->ai_socktype, entry->ai_protocol));
    const int on = 1;
    ::setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (probe.get() < 0 || ::bind(probe.get(), entry->ai_addr, entry->ai_addrlen) != 0 ||
        ::listen(probe.get(), 1) != 0)
      return errno_text(errno);
  }
  return {};
}

}  // namespace colltune
