// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

namespace colltune {

/// A host of a launch.
struct LaunchHost {
  std::string name;                ///< as it calls itself
  std::string ranks;               ///< ranks on this host, for a person: "2, 3"
  std::uint16_t witness_port = 0;  ///< where its Witness listens; 0: it has none

  friend bool operator==(const LaunchHost&, const LaunchHost&) = default;
};

/// A host and its first address, without a port.
struct HostAddress {
  LaunchHost host;
  sockaddr_storage address{};
  socklen_t address_size = 0;

  /// The address with a port, given in the host's byte order.
  [[nodiscard]] sockaddr_storage with_port(std::uint16_t port) const;
};

/// The name of this host, as it calls itself.
[[nodiscard]] std::string own_host_name();

/// The addresses of all hosts except this one. Leaves out hosts whose names cannot be resolved
/// here, and after 5 s all that are left.
[[nodiscard]] std::vector<HostAddress> resolve_other_hosts(const std::vector<LaunchHost>& hosts);

}  // namespace colltune
