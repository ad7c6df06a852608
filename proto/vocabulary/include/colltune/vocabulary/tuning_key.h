// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>

#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/regime.h"
#include "colltune/vocabulary/topology.h"

namespace colltune {

/// What a decision is filed under.
struct TuningKey {
  Problem problem;
  Topology topology;
  std::string environment_digest;
  Calling calling = default_calling;  ///< `persistent` if the problem is captured into a graph
  InputMode input = default_input;

  friend auto operator<=>(const TuningKey&, const TuningKey&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, TuningKey>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("problem", self.problem);
  visit("topology", self.topology);
  visit("environment_digest", self.environment_digest);
  visit("calling", self.calling);
  visit("input", self.input);
}

[[nodiscard]] inline Regime regime_of(const TuningKey& key) { return {key.calling, key.input}; }

/// How calls of `problem` are made if `asked` is wanted: a captured graph fixes its buffers, so
/// such calls are always persistent.
[[nodiscard]] inline Calling calling_for(const Problem& problem, Calling asked) {
  return problem.graph_capture ? Calling::persistent : asked;
}

}  // namespace colltune
