// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/decision_set.h"
#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/measurement.h"
#include "colltune/vocabulary/world_members.h"

namespace colltune {

/// The state of a sweep. Stored by name.
enum class SweepState {
  running = 0,   ///< begun and not finished: in progress or killed
  complete = 1,  ///< every trial of its plan has an outcome
  partial = 2,   ///< ended early (budget, signal) with the results so far
  failed = 3,    ///< ended by an error
};
constexpr std::array<Named<SweepState>, 4> enum_names(SweepState) {
  return {{{SweepState::running, "running"},
           {SweepState::complete, "complete"},
           {SweepState::partial, "partial"},
           {SweepState::failed, "failed"}}};
}
constexpr std::string_view enum_title(SweepState) { return "sweep state"; }

/// The purpose of a sweep's measurements. Stored by name.
enum class SweepPurpose {
  choose = 0,   ///< deciding
  confirm = 1,  ///< checking decisions in a fresh launch: baseline against winner only
};
constexpr std::array<Named<SweepPurpose>, 2> enum_names(SweepPurpose) {
  return {{{SweepPurpose::choose, "choose"}, {SweepPurpose::confirm, "confirm"}}};
}
constexpr std::string_view enum_title(SweepPurpose) { return "sweep purpose"; }

/// One launch that measures: by `colltune-agent sweep` or `colltune-agent confirm`.
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
  SweepPurpose purpose = SweepPurpose::choose;
  std::string confirmation{};  ///< the confirmation that this launch is part of; empty: none
  Provenance provenance{};     ///< what else is recorded of its launch

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
  visit("purpose", self.purpose);
  visit("confirmation", self.confirmation);
  visit("provenance", self.provenance);
}

/// An environment with the digest that names it in keys.
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

/// One failed attempt at a trial. Another attempt may follow, so it is not a measurement.
struct FailureRecord {
  std::string sweep_uuid;
  TuningKey key;
  Variant variant;
  Outcome outcome = Outcome::crashed;  ///< a fault
  std::string detail;       ///< who, where, signal or exit code, number of the launch; for a person
  std::string recorded_at;  ///< UTC, ISO 8601

  friend bool operator==(const FailureRecord&, const FailureRecord&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, FailureRecord>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("sweep_uuid", self.sweep_uuid);
  visit("key", self.key);
  visit("variant", self.variant);
  visit("outcome", self.outcome);
  visit("detail", self.detail);
  visit("recorded_at", self.recorded_at);
}

/// A variant that is neither measured nor published for one key, in any sweep, until it is
/// released. The key names the environment, so a new version of a library starts without
/// quarantines.
struct QuarantineRecord {
  TuningKey key;
  Variant variant;
  int failures = 0;                    ///< failures that led to it, at least 1
  Outcome outcome = Outcome::crashed;  ///< of the last failure
  std::string reason;                  ///< for a person
  std::string since;                   ///< UTC, ISO 8601
  std::string released_at;             ///< UTC, ISO 8601; empty while in force

  friend bool operator==(const QuarantineRecord&, const QuarantineRecord&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, QuarantineRecord>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("key", self.key);
  visit("variant", self.variant);
  visit("failures", self.failures);
  visit("outcome", self.outcome);
  visit("reason", self.reason);
  visit("since", self.since);
  visit("released_at", self.released_at);
}

/// `decision` as it may be published given the `quarantines` in force: without the variants that
/// are quarantined for its key, which its reason then mentions. Empty if no variant is left.
[[nodiscard]] std::optional<Decision> without_quarantined(
    Decision decision, std::span<const QuarantineRecord> quarantines);

/// A generation without its decisions.
struct GenerationRecord {
  std::uint64_t number = 0;
  std::string published_at;  ///< UTC, ISO 8601
  std::string content_digest;
  std::uint64_t decisions = 0;

  friend bool operator==(const GenerationRecord&, const GenerationRecord&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, GenerationRecord>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("number", self.number);
  visit("published_at", self.published_at);
  visit("content_digest", self.content_digest);
  visit("decisions", self.decisions);
}
/// Rows that are intact but hold something that no reader can use. A program from before the limits
/// accepted them. They are left out.
struct LeftOut {
  std::uint64_t rows = 0;
  std::string first;  ///< which one and why, for a person

  void add(const std::string& why) {
    if (rows++ == 0) first = why;
  }
  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};
/// "3 rows are left out; the first: …"; empty if there are none.
[[nodiscard]] std::string describe(const LeftOut& left_out);

/// A whole generation as stored, ordered by key, then family.
struct PublishedTable : DecisionSet {
  std::string published_at{};  ///< UTC, ISO 8601
  LeftOut left_out{};
};

}  // namespace colltune
