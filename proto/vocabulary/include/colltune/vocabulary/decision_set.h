// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/fits/variant_fit.h"
#include "colltune/vocabulary/world_members.h"

namespace colltune {

/// The decisions of one generation, or some of them, with everything that is needed to answer from
/// them. The store reads it, the daemon sends it, clients and exporters use it.
struct DecisionSet {
  Generation generation{};
  std::vector<Decision> decisions{};
  /// Digest and facts of the environments that the decisions name.
  std::vector<std::pair<std::string, Environment>> environments{};
  /// Members of the worlds in which the decisions were measured, by sweep and topology, if known.
  std::vector<WorldMembers> members{};
  /// Compositions that ranked variants name.
  std::vector<Composition> compositions{};
  /// What models made of the decisions' times, by key and variant. They change answers for sizes
  /// that were not measured, and nothing else. None of a generation that was stored before fits
  /// were, nor from a daemon or in a table file of before they were sent.
  std::vector<VariantFit> fits{};

  friend bool operator==(const DecisionSet&, const DecisionSet&) = default;
};

/// The facts of one of its environments; null if it lacks them. Valid as long as `set` is.
[[nodiscard]] inline const Environment* find_environment(const DecisionSet& set,
                                                         const std::string& digest) {
  for (const auto& [name, environment] : set.environments)
    if (name == digest) return &environment;
  return nullptr;
}

/// The worlds whose decisions are requested; an empty field matches all.
struct WorldFilter {
  std::optional<int> nodes{};
  std::optional<int> ranks_per_node{};
  std::optional<std::string> architecture{};
  std::optional<std::string> environment_digest{};
};

}  // namespace colltune
