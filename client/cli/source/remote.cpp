// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "remote.h"

#include <chrono>

#include "colltune/client/client.h"
#include "origin.h"

namespace colltune {

FoundAnswer look_up_remotely(const std::string& address, const LookupQuery& query) {
  OnceAnswer found = Client(address).lookup_once(query);
  say_guess(found.guess);
  return found;
}

DecisionSet fetch_remotely(const std::string& address,
                           const std::optional<std::uint64_t>& generation) {
  return Client(address).fetch_decisions({}, generation);
}

std::vector<Annotation> annotate_remotely(const std::string& address,
                                          const AnnotatedProgram& program) {
  return Client(address, std::chrono::seconds(10)).annotate(program);
}

}  // namespace colltune
