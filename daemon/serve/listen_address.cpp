// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/serve/listen_address.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <charconv>

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

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// `path` with its escapes replaced by what they stand for.
std::string unescaped(std::string_view text, std::string_view path) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      out += path[i];
      continue;
    }
    const int high = i + 2 < path.size() ? hex_digit(path[i + 1]) : -1;
    const int low = i + 2 < path.size() ? hex_digit(path[i + 2]) : -1;
    if (high < 0 || low < 0)
      fail(text, "'%' begins an escape of two hexadecimal digits; write %25 for itself");
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (out.find('\0') != std::string::npos) fail(text, "a path holds no byte 0");
  return out;
}

/// What gRPC's clients read as `path`: all but the characters that a URI's path may hold is
/// escaped.
std::string escaped(std::string_view path) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/";
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    if (plain.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
  }
  return out;
}

ListenAddress parse_unix(std::string_view text, std::string_view path) {
  if (path.empty() || path.front() != '/') fail(text, "the socket needs an absolute path");
  if (path.size() > longest_socket_path)
    fail(text, "the path has " + std::to_string(path.size()) +
                   " bytes, the system's limit for sockets is " +
                   std::to_string(longest_socket_path));
  return {.socket = std::filesystem::path(path).lexically_normal(), .host = {}};
}

}  // namespace

ListenAddress parse_listen_address(std::string_view text) {
  constexpr std::string_view unix_scheme = "unix:";
  if (text.starts_with(unix_scheme)) {
    std::string_view path = text.substr(unix_scheme.size());
    if (path.starts_with("///")) path.remove_prefix(2);  // unix:///path, as gRPC takes it
    return parse_unix(text, unescaped(text, path));
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
  if (address.is_unix()) return "unix:" + escaped(address.socket.string());
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

}  // namespace colltune
