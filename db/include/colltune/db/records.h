// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/environment.h"

namespace colltune {

/// How a sweep stands. Stored by name.
enum class SweepState {
  running = 0,   ///< begun and not finished: in progress, or killed
  complete = 1,  ///< every trial of its plan has an outcome
  partial = 2,   ///< ended early (budget, signal) with what it had
  failed = 3,    ///< ended by an error
};
constexpr std::array<Named<SweepState>, 4> enum_names(SweepState) {
  return {{{SweepState::running, "running"},
           {SweepState::complete, "complete"},
           {SweepState::partial, "partial"},
           {SweepState::failed, "failed"}}};
}
constexpr std::string_view enum_title(SweepState) { return "sweep state"; }

/// One run of `colltune-agent sweep`.
struct SweepRecord {
  std::string uuid;
  std::string started_at;   ///< UTC, ISO 8601
  std::string finished_at;  ///< empty while running
  SweepState state = SweepState::running;
  std::string configuration;  ///< the configuration file as read, JSON
  std::string environment_digest;
  std::string launch;  ///< ranks, nodes, hosts as the agent saw them, for a person
  std::uint64_t seed = 0;
  std::uint64_t planned_trials = 0;
  std::string summary;  ///< JSON written at the end: shares of time, counts of outcomes

  friend bool operator==(const SweepRecord&, const SweepRecord&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, SweepRecord>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("uuid", self.uuid);
  visit("started_at", self.started_at);
  visit("finished_at", self.finished_at);
  visit("state", self.state);
  visit("configuration", self.configuration);
  visit("environment_digest", self.environment_digest);
  visit("launch", self.launch);
  visit("seed", self.seed);
  visit("planned_trials", self.planned_trials);
  visit("summary", self.summary);
}

/// An environment with the digest that keys name it by.
struct EnvironmentRecord {
  std::string digest;
  Environment environment;

  friend bool operator==(const EnvironmentRecord&, const EnvironmentRecord&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, EnvironmentRecord>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("digest", self.digest);
  visit("environment", self.environment);
}

/// Everything that a reader needs to answer from one generation.
struct PublishedTable {
  Generation generation;
  std::string published_at;                     ///< UTC, ISO 8601
  std::vector<EnvironmentRecord> environments;  ///< those that the decisions name
  std::vector<Decision> decisions;              ///< ordered by key, then family
};

}  // namespace colltune
