// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "colltune/vocabulary/collective.h"
#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/variant.h"

namespace colltune {

/// A parameter and the values that a sweep tries: all numbers or all words.
struct ParameterRange {
  std::string name;
  std::vector<ParameterValue> values;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, ParameterRange>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("name", self.name);
  visit("values", self.values);
}

/// constant + ranks * n + log2_ranks * ceil(log2 n)
struct StepTerms {
  double constant = 0;
  double ranks = 0;
  double log2_ranks = 0;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, StepTerms>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("constant", self.constant);
  visit("ranks", self.ranks);
  visit("log2_ranks", self.log2_ranks);
}

/// message size * (size + size_times_ranks * n + size_over_ranks / n + size_times_log2_ranks *
/// ceil(log2 n))
struct SizeTerms {
  double size = 0;
  double size_times_ranks = 0;
  double size_over_ranks = 0;
  double size_times_log2_ranks = 0;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, SizeTerms>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("size", self.size);
  visit("size_times_ranks", self.size_times_ranks);
  visit("size_over_ranks", self.size_over_ranks);
  visit("size_times_log2_ranks", self.size_times_log2_ranks);
}

struct CostTerms {
  StepTerms steps;
  SizeTerms bytes_per_rank;
  SizeTerms reduced_bytes;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, CostTerms>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("steps", self.steps);
  visit("bytes_per_rank", self.bytes_per_rank);
  visit("reduced_bytes", self.reduced_bytes);
}

/// One entry of a plug-in's `describe()`. The name does not include the family.
struct DescribedImplementation {
  std::string name;
  Collective collective = Collective::all_reduce;
  std::string description;
  Rounding rounding = Rounding::exact;
  NumericClass numeric_class = NumericClass::any;
  std::vector<ParameterRange> parameters;  ///< sorted by name
  Limits limits;
  CostTerms cost;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, DescribedImplementation>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("name", self.name);
  visit("collective", self.collective);
  visit("description", self.description);
  visit("rounding", self.rounding);
  visit("numeric_class", self.numeric_class);
  visit("parameters", self.parameters);
  visit("limits", self.limits);
  visit("cost", self.cost);
}

/// Whether `text` is valid as a name in a printed variant.
[[nodiscard]] bool is_printable_name(std::string_view text);

/// Reads and checks a plug-in's description. Parameters, limits and cost may be left out, as may
/// each key of the latter two. Throws Error(invalid_argument) whose message begins with `where` and
/// the JSON path.
[[nodiscard]] std::vector<DescribedImplementation> parse_description(std::string_view text,
                                                                     const std::string& where);

}  // namespace colltune
