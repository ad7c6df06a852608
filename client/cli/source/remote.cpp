// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "remote.h"

#include "colltune/client/client.h"

namespace colltune {

FoundAnswer look_up_remotely(const std::string& address, const LookupQuery& query) {
  const Client client(address);
  FoundAnswer found{.answer = client.lookup(query), .environment = {}};
  const TuningKey& key = found.answer.decision.key;
  const LocalTable world = client.fetch_table({.nodes = key.topology.nodes,
                                               .ranks_per_node = key.topology.ranks_per_node,
                                               .architecture = architecture_name(key.topology),
                                               .environment_digest = key.environment_digest},
                                              found.answer.generation);
  for (const auto& [digest, environment] : world.set().environments)
    if (digest == key.environment_digest) found.environment = environment;
  return found;
}

DecisionSet fetch_remotely(const std::string& address,
                           const std::optional<std::uint64_t>& generation) {
  return Client(address).fetch_table({}, generation).set();
}

}  // namespace colltune
