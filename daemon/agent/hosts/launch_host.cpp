// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/hosts/launch_host.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <memory>

namespace colltune {
namespace {

using Clock = std::chrono::steady_clock;

// Each name that no server resolves costs seconds.
constexpr std::chrono::seconds patience_with_names{5};

struct Free {
  void operator()(addrinfo* list) const noexcept { freeaddrinfo(list); }
};

}  // namespace

sockaddr_storage HostAddress::with_port(std::uint16_t port) const {
  sockaddr_storage with = address;
  // The port is at the same place in both families.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  const std::uint16_t network_port = htons(port);
  std::memcpy(reinterpret_cast<std::byte*>(&with) + offsetof(sockaddr_in, sin_port), &network_port,
              sizeof network_port);
  return with;
}

std::string own_host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::vector<HostAddress> resolve_other_hosts(const std::vector<LaunchHost>& hosts) {
  const std::string own = own_host_name();
  const auto end = Clock::now() + patience_with_names;
  std::vector<HostAddress> addresses;
  for (const LaunchHost& host : hosts) {
    if (host.name == own || Clock::now() > end) continue;
    const addrinfo wanted{.ai_socktype = SOCK_STREAM};
    addrinfo* list = nullptr;
    if (getaddrinfo(host.name.c_str(), nullptr, &wanted, &list) != 0) continue;
    const std::unique_ptr<addrinfo, Free> found(list);
    HostAddress address{.host = host, .address_size = found->ai_addrlen};
    std::memcpy(&address.address, found->ai_addr, found->ai_addrlen);
    addresses.push_back(std::move(address));
  }
  return addresses;
}

}  // namespace colltune
