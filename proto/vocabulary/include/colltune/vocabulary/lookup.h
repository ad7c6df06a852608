// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/members.h"

namespace colltune {

/// Where an answer comes from. Stored and sent by name.
enum class Source {
  measured = 0,      ///< exactly this size was measured
  interpolated = 1,  ///< between two measured sizes of the same key
  predicted = 2,     ///< by a cost model
  baseline = 3,      ///< nothing is known; the library's own choice
};
constexpr std::array<Named<Source>, 4> enum_names(Source) {
  return {{{Source::measured, "measured"},
           {Source::interpolated, "interpolated"},
           {Source::predicted, "predicted"},
           {Source::baseline, "baseline"}}};
}
constexpr std::string_view enum_title(Source) { return "source"; }

/// How closely an answer's key matches the query; a query names the least that it accepts. Closest
/// first.
enum class MatchLevel {
  exact = 0,            ///< problem, topology and environment
  nearest_size = 1,     ///< as exact, but between or outside the measured sizes
  any_environment = 2,  ///< problem and topology match, but some version or hardware fact does not
  other_ranks = 3,  ///< as any_environment, but nothing was measured with so many ranks per node: a
                    ///< model says it from measurements with other numbers
};
constexpr std::array<Named<MatchLevel>, 4> enum_names(MatchLevel) {
  return {{{MatchLevel::exact, "exact"},
           {MatchLevel::nearest_size, "nearest_size"},
           {MatchLevel::any_environment, "any_environment"},
           {MatchLevel::other_ranks, "other_ranks"}}};
}
constexpr std::string_view enum_title(MatchLevel) { return "match level"; }

/// How the members whose measurements answer compare with the asking ones. Stored and sent by name.
enum class MembersMatch {
  not_asked = 0,  ///< the query does not say what its members can do
  same = 1,       ///< exactly the same, rank by rank
  less = 2,       ///< they can do no more, and some of them less
  unknown = 3,    ///< fitting measurements have members that can do more, or unknown ones: baseline
                  ///< alone
};
constexpr std::array<Named<MembersMatch>, 4> enum_names(MembersMatch) {
  return {{{MembersMatch::not_asked, "not_asked"},
           {MembersMatch::same, "same"},
           {MembersMatch::less, "less"},
           {MembersMatch::unknown, "unknown"}}};
}
constexpr std::string_view enum_title(MembersMatch) { return "members match"; }

/// "Which variant for this call?" A field that is left empty must be unambiguous in the table: if
/// several stored worlds fit, the lookup fails with an error that lists them.
struct LookupQuery {
  Problem problem;
  std::optional<int> nodes;
  std::optional<int> ranks_per_node;
  std::optional<std::string> architecture;  ///< architecture_name() of the topology
  std::optional<std::string> environment_digest;
  std::optional<Placement> placement;  ///< `dedicated` unless set
  std::string family{any_family};
  MatchLevel at_least = MatchLevel::any_environment;
  std::optional<std::uint64_t> generation;   ///< exactly this one; Error(not_found) if it is
                                             ///< unknown
  std::optional<std::string> layout_digest;  ///< distinguishes worlds that are otherwise alike
  std::optional<std::string> interconnect;
  /// What the asking communicator's ranks can do, in rank order. The answer is then one that all of
  /// them can run. Without it, no variant that names a composition is answered.
  std::optional<Members> members;
  /// For a mesh_reduce: only variants of this form are answered; `merged` includes those for unlike
  /// ranks. Empty: whatever the measurements say.
  std::optional<CompositionMode> form;
  std::optional<Calling> calling;  ///< `default_calling` unless set; of a captured call always
                                   ///< `persistent`
  std::optional<InputMode> input;  ///< `default_input` unless set

  friend bool operator==(const LookupQuery&, const LookupQuery&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, LookupQuery>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("problem", self.problem);
  visit("nodes", self.nodes);
  visit("ranks_per_node", self.ranks_per_node);
  visit("architecture", self.architecture);
  visit("environment_digest", self.environment_digest);
  visit("placement", self.placement);
  visit("family", self.family);
  visit("at_least", self.at_least);
  visit("generation", self.generation);
  visit("layout_digest", self.layout_digest);
  visit("interconnect", self.interconnect);
  visit("members", self.members);
  visit("form", self.form);
  visit("calling", self.calling);
  visit("input", self.input);
}

/// The regime whose decisions may answer; no other is passed off as it.
[[nodiscard]] inline Regime regime_of(const LookupQuery& query) {
  return {.calling = calling_for(query.problem, query.calling.value_or(default_calling)),
          .input = query.input.value_or(default_input)};
}

/// Where a model expects the time of a variant that was not measured at the size, or with so many
/// ranks: within these bounds lay 90 % of the measured times that were left out of the model.
struct TimePrediction {
  std::chrono::nanoseconds low{};
  std::chrono::nanoseconds high{};
  std::string model;  ///< "alpha_beta"; "loggp" with other numbers of ranks than were measured

  friend bool operator==(const TimePrediction&, const TimePrediction&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, TimePrediction>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("low_ns", self.low);
  visit("high_ns", self.high);
  visit("model", self.model);
}

/// The answer. `decision.ranked` holds only variants that can run the query's problem, the winner
/// first; its medians are for the query's size (interpolated or predicted if `source` says so).
struct LookupAnswer {
  Decision decision;
  Source source = Source::measured;
  MatchLevel match = MatchLevel::exact;
  std::vector<Bytes> measured_sizes;  ///< the measured sizes that the answer is based on: one, or
                                      ///< the two around the query's; none if `source` is
                                      ///< `baseline`. With `other_ranks`: with other
                                      ///< numbers of ranks
  Generation generation;
  MembersMatch members = MembersMatch::not_asked;
  std::vector<Composition> compositions;  ///< those that `decision.ranked` names, in its order
  /// Of the first variant; empty if its size was measured or no model was fitted to its times.
  std::optional<TimePrediction> prediction{};

  friend bool operator==(const LookupAnswer&, const LookupAnswer&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, LookupAnswer>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("decision", self.decision);
  visit("source", self.source);
  visit("match", self.match);
  visit("measured_sizes_bytes", self.measured_sizes);
  visit("generation", self.generation);
  visit("members", self.members);
  visit("compositions", self.compositions);
  visit("prediction", self.prediction);
}

/// What makes a ranked variant run in its own library. Stored and sent by name.
enum class ApplyBy {
  nothing = 0,      ///< it is what runs anyway
  environment = 1,  ///< variables in the environment of the launch
  program = 2,      ///< calls that the program makes
  colltune = 3,     ///< nothing: only colltune-agent runs it
  component = 4,    ///< a table file and colltune's component for Open MPI
};
constexpr std::array<Named<ApplyBy>, 5> enum_names(ApplyBy) {
  return {{{ApplyBy::nothing, "nothing"},
           {ApplyBy::environment, "environment"},
           {ApplyBy::program, "program"},
           {ApplyBy::colltune, "colltune"},
           {ApplyBy::component, "component"}}};
}
constexpr std::string_view enum_title(ApplyBy) { return "way to apply a variant"; }

/// How a user of the variant's own library gets what was measured.
struct ApplySettings {
  ApplyBy by = ApplyBy::colltune;
  std::vector<std::string> variables;  ///< "NAME=value" of the launch; with `environment` alone
  std::string how;                     ///< for a person: what to do, and what else that changes

  friend bool operator==(const ApplySettings&, const ApplySettings&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, ApplySettings>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("by", self.by);
  visit("variables", self.variables);
  visit("how", self.how);
}

/// An answer, and the facts of the environment in which it was measured, if known.
struct FoundAnswer {
  LookupAnswer answer;
  std::optional<Environment> environment;
};

}  // namespace colltune
