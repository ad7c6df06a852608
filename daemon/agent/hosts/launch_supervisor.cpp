// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/hosts/launch_supervisor.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "colltune/hosts/launch_host.h"
#include "colltune/vocabulary/error.h"

namespace colltune {

LaunchSupervisor become_supervisor() {
  std::array<std::uint64_t, 2> random{};
  // So few bytes come whole or not at all.
  while (getrandom(random.data(), sizeof random, 0) != sizeof random)
    if (errno != EINTR)
      throw Error(StatusCode::unavailable,
                  std::string("the system gives no random bytes: ") + std::strerror(errno));
  return {.host = own_host_name(), .token = fmt::format("{:016x}{:016x}", random[0], random[1])};
}

std::string to_variable(const LaunchSupervisor& supervisor) {
  return supervisor.token + "@" + supervisor.host;
}

std::optional<LaunchSupervisor> find_supervisor() {
  const char* variable = std::getenv(supervised_variable);
  if (variable == nullptr) return std::nullopt;
  const std::string_view value(variable);
  const std::size_t at = value.find('@');
  if (at == 0 || at == std::string_view::npos || at + 1 == value.size()) return std::nullopt;
  return LaunchSupervisor{.host = std::string(value.substr(at + 1)),
                          .token = std::string(value.substr(0, at))};
}

}  // namespace colltune
