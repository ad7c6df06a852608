// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/collective.h"

namespace colltune {

/// The setting of a parameter: a number or a word.
using ParameterValue = std::variant<std::int64_t, std::string>;

struct Parameter {
  std::string name;
  ParameterValue value;

  friend auto operator<=>(const Parameter&, const Parameter&) = default;
};

/// An implementation with every parameter set. Printed and parsed as `name{a=1,b=ring}`; parameters
/// are sorted by name.
struct Variant {
  std::string implementation;
  std::vector<Parameter> parameters;

  friend auto operator<=>(const Variant&, const Variant&) = default;
};
/// Names use letters, digits, '.', '_' and '-'; values use the same, or are integers. Throws
/// Error(invalid_argument) if the text does not have this form.
[[nodiscard]] Variant parse_variant(std::string_view text);
[[nodiscard]] std::string to_string(const ParameterValue& value);
[[nodiscard]] std::string to_string(const Variant& variant);

/// The setting of the parameter `name`. Throws Error(internal) if the variant has none of that name
/// and kind, which means that its own implementation did not make it.
[[nodiscard]] std::int64_t number(const Variant& variant, std::string_view name);
[[nodiscard]] const std::string& word(const Variant& variant, std::string_view name);

/// Where a variant can run. It is data, so that servers and interpolation never answer with a
/// variant that cannot run.
struct Limits {
  int min_ranks = 1;
  int max_ranks = 0;  ///< 0: no limit
  int ranks_multiple_of = 1;
  Bytes min_message;
  Bytes max_message;                 ///< 0: no limit
  std::vector<DataType> data_types;  ///< empty: all
  std::vector<ReduceOp> reduce_ops;  ///< empty: all
  Bytes alignment{1};                ///< of every buffer

  friend auto operator<=>(const Limits&, const Limits&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Limits>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("min_ranks", self.min_ranks);
  visit("max_ranks", self.max_ranks);
  visit("ranks_multiple_of", self.ranks_multiple_of);
  visit("min_message_bytes", self.min_message);
  visit("max_message_bytes", self.max_message);
  visit("data_types", self.data_types);
  visit("reduce_ops", self.reduce_ops);
  visit("alignment_bytes", self.alignment);
}

struct Problem;
/// Empty if `problem` on `ranks` ranks lies within `limits`, else the reason for a person.
[[nodiscard]] std::string why_outside(const Limits& limits, const Problem& problem, int ranks);

/// The limits that satisfy both; the two must have a problem in common.
[[nodiscard]] Limits intersection(const Limits& one, const Limits& other);

/// In which order a variant accumulates, and how often it rounds to the element type. Stored and
/// sent by name.
enum class Rounding {
  exact = 0,      ///< moves data, or uses an operator that never rounds
  once = 1,       ///< accumulates in a wider (or the same) type, rounds once at the end
  each_step = 2,  ///< rounds after each of the (at most ranks - 1) accumulations
};
constexpr std::array<Named<Rounding>, 3> enum_names(Rounding) {
  return {
      {{Rounding::exact, "exact"}, {Rounding::once, "once"}, {Rounding::each_step, "each_step"}}};
}
constexpr std::string_view enum_title(Rounding) { return "rounding"; }

}  // namespace colltune
