// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "colltune/vocabulary/annotation/annotation.h"
#include "colltune/vocabulary/decision_set.h"
#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/field_limits.h"
#include "colltune/vocabulary/lookup.h"
#include "colltune/vocabulary/world_members.h"

// The requests and responses of TuningService as values, with those of their fields that a client
// uses; tuning_service.proto says what they mean. A new call is a request with its `name` and
// `Response` here, and a line for each of the two at the end of fields.cpp.

namespace colltune::calls {

/// Marks what is no type of the vocabulary.
struct OfACall {};

struct LookupResponse : OfACall {
  LookupAnswer answer;
  std::optional<Environment> environment;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, LookupResponse>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("answer", self.answer);
  visit("environment", self.environment);
}

/// The method `name` takes the message `name`Request and answers with `name`Response.
struct LookupRequest : OfACall {
  static constexpr std::string_view name = "Lookup";
  using Response = LookupResponse;

  LookupQuery query;
  std::optional<std::string> generation_digest;
  bool with_environment = false;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, LookupRequest>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("query", self.query);
  visit("generation_digest", self.generation_digest);
  visit("with_environment", self.with_environment);
}

struct LookupFailure : OfACall {
  int code = 0;
  std::string message;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, LookupFailure>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("code", self.code);
  visit("message", self.message);
}

struct BatchLookupItem : OfACall {
  std::optional<LookupAnswer> answer;
  std::optional<LookupFailure> failure;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, BatchLookupItem>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("answer", self.answer);
  visit("failure", self.failure);
}

struct BatchLookupResponse : OfACall {
  Generation generation;
  std::vector<BatchLookupItem> items;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, BatchLookupResponse>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("generation", self.generation);
  visit("items", self.items);
}

struct BatchLookupRequest : OfACall {
  static constexpr std::string_view name = "BatchLookup";
  using Response = BatchLookupResponse;

  std::vector<LookupQuery> queries;
  std::optional<std::uint64_t> generation;
  std::optional<std::string> generation_digest;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, BatchLookupRequest>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("queries", self.queries);
  visit("generation", self.generation);
  visit("generation_digest", self.generation_digest);
}

struct TableFilter : OfACall {
  WorldFilter worlds;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, TableFilter>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("nodes", self.worlds.nodes);
  visit("ranks_per_node", self.worlds.ranks_per_node);
  visit("architecture", self.worlds.architecture);
  visit("environment_digest", self.worlds.environment_digest);
}

struct EnvironmentRecord : OfACall {
  std::string digest;
  Environment environment;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, EnvironmentRecord>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("digest", self.digest);
  visit("environment", self.environment);
}

/// One message of the stream.
struct GetTableResponse : OfACall {
  std::optional<Generation> generation;
  std::vector<EnvironmentRecord> environments;
  std::vector<Decision> decisions;
  std::vector<WorldMembers> members;
  std::vector<Composition> compositions;
  std::vector<VariantFit> fits;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, GetTableResponse>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("generation", self.generation);
  visit("environments", self.environments);
  visit("decisions", self.decisions);
  visit("members", self.members);
  visit("compositions", self.compositions);
  visit("fits", self.fits);
}

struct GetTableRequest : OfACall {
  static constexpr std::string_view name = "GetTable";
  using Response = GetTableResponse;

  TableFilter filter;
  std::optional<std::uint64_t> generation;
  std::optional<std::string> generation_digest;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, GetTableRequest>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("filter", self.filter);
  visit("generation", self.generation);
  visit("generation_digest", self.generation_digest);
}

struct GetGenerationResponse : OfACall {
  Generation newest;
  std::vector<std::uint64_t> pinnable;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, GetGenerationResponse>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("newest", self.newest);
  visit("pinnable", self.pinnable);
}

struct GetGenerationRequest : OfACall {
  static constexpr std::string_view name = "GetGeneration";
  using Response = GetGenerationResponse;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, GetGenerationRequest>
constexpr void visit_fields(Self&, Visit&&) {}

struct AnnotateResponse : OfACall {
  std::vector<Annotation> annotations;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, AnnotateResponse>
constexpr void visit_fields(Self& self, Visit&& visit) { visit("annotations", self.annotations); }

struct AnnotateRequest : OfACall {
  static constexpr std::string_view name = "Annotate";
  using Response = AnnotateResponse;

  AnnotatedProgram program;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, AnnotateRequest>
constexpr void visit_fields(Self& self, Visit&& visit) { visit("program", self.program); }

}  // namespace colltune::calls

namespace colltune {

// A message of 64 MiB may hold more than the usual number of small entries.
template <>
inline constexpr std::array<NamedLimits, 1> unusual_limits<calls::GetTableResponse>{
    {{"", {.most_entries = 1U << 24U}}}};
template <>
inline constexpr std::array<NamedLimits, 1> unusual_limits<calls::GetGenerationResponse>{
    {{"pinnable", {.most_entries = 1U << 24U}}}};
template <>
inline constexpr std::array<NamedLimits, 1> unusual_limits<calls::AnnotateResponse>{
    {{"annotations", {.most_entries = 1U << 24U}}}};
/// The text of an error of any length.
template <>
inline constexpr std::array<NamedLimits, 1> unusual_limits<calls::LookupFailure>{
    {{"message", {.longest_text = 1U << 24U}}}};

}  // namespace colltune
