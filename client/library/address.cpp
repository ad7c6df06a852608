// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "address.h"

#include <charconv>
#include <string_view>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

bool is_host_and_port(std::string_view address) {
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || !is_port(address.substr(colon + 1)))
    return false;
  const std::string_view host = address.substr(0, colon);
  if (host.front() == '[') return host.back() == ']' && host.size() > 2;
  return host.find_first_of(":/ ") == std::string_view::npos;
}

}  // namespace

void check_address(const std::string& address) {
  const bool is_socket = address.starts_with("unix:") && address.size() > 5;
  if (is_socket || is_host_and_port(address)) return;
  throw Error(StatusCode::invalid_argument,
              "'" + address +
                  "' is no address of a colltuned; write unix:/path/to/socket or host:port (an "
                  "IPv6 host as [::1]:50061)");
}

}  // namespace colltune
