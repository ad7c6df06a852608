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

/// Reads "unix:/path", "127.0.0.1:50061", "[::1]:50061" or "localhost:50061". Throws
/// Error(invalid_argument) for anything else.
[[nodiscard]] ListenAddress parse_listen_address(std::string_view text);

/// The form that parse_listen_address, and a gRPC client, reads.
[[nodiscard]] std::string to_string(const ListenAddress& address);

/// True where only processes on this host can connect.
[[nodiscard]] bool is_local(const ListenAddress& address);

/// Makes a Unix socket's path free: removes what a killed daemon left behind. Throws
/// Error(already_exists) where someone listens there, Error(failed_precondition) where the path is
/// something else than a socket or its folder is missing.
void clear_stale_socket(const std::filesystem::path& socket);

/// Why nobody can listen on a TCP address ("Address already in use"); empty where one can.
[[nodiscard]] std::string why_not_bindable(const ListenAddress& address);

}  // namespace colltune
