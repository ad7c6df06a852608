// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace colltune {

/// Where the daemon listens: a Unix socket, or a TCP host and port.
struct ListenAddress {
  std::filesystem::path socket;  ///< empty for TCP
  std::string host;              ///< without brackets; empty for a Unix socket
  std::uint16_t port = 0;        ///< 0: the system chooses

  [[nodiscard]] bool is_unix() const { return !socket.empty(); }
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

/// Reads "unix:/path", "127.0.0.1:50061", "[::1]:50061" or "localhost:50061". In a path, `%` and
/// two hexadecimal digits stand for a byte, as gRPC's clients read it ("unix:/run/a%20b.sock").
/// Throws Error(invalid_argument) for anything else.
[[nodiscard]] ListenAddress parse_listen_address(std::string_view text);

/// The form that parse_listen_address, and a gRPC client, reads.
[[nodiscard]] std::string to_string(const ListenAddress& address);

/// True where only processes on this host can connect.
[[nodiscard]] bool is_local(const ListenAddress& address);

}  // namespace colltune
