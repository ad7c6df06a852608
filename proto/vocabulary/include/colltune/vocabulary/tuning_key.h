// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>

#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/topology.h"

namespace colltune {

/// What a decision is filed under.
struct TuningKey {
  Problem problem;
  Topology topology;
  std::string environment_digest;

  friend auto operator<=>(const TuningKey&, const TuningKey&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, TuningKey>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("problem", self.problem);
  visit("topology", self.topology);
  visit("environment_digest", self.environment_digest);
}

}  // namespace colltune
