// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The library that remote.cpp loads.

#include "remote_calls.h"

#include <chrono>

#include "colltune/client/client.h"

namespace colltune {
namespace {

FoundAnswer look_up(const std::string& address, const LookupQuery& query, std::string& guess) {
  OnceAnswer found = Client(address).lookup_once(query);
  guess = found.guess;
  return found;
}

DecisionSet fetch(const std::string& address, const std::optional<std::uint64_t>& generation) {
  return Client(address).fetch_decisions({}, generation);
}

std::vector<Annotation> annotate(const std::string& address, const AnnotatedProgram& program) {
  return Client(address, std::chrono::seconds(10)).annotate(program);
}

}  // namespace
}  // namespace colltune

const colltune::RemoteCalls* colltune_remote_calls() {
  static constexpr colltune::RemoteCalls calls{
      .look_up = colltune::look_up, .fetch = colltune::fetch, .annotate = colltune::annotate};
  return &calls;
}
