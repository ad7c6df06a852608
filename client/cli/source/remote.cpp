// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "remote.h"

#include "colltune/client/client.h"

namespace colltune {

FoundAnswer look_up_remotely(const std::string& address, const LookupQuery& query) {
  return Client(address).lookup_with_environment(query);
}

DecisionSet fetch_remotely(const std::string& address,
                           const std::optional<std::uint64_t>& generation) {
  return Client(address).fetch_table({}, generation).set();
}

}  // namespace colltune
