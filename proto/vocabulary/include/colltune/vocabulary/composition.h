// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "colltune/vocabulary/names.h"
#include "colltune/vocabulary/variant.h"

namespace colltune {

/// How ranks that cannot all run one variant do a collective together. Stored and sent by name.
enum class CompositionMode {
  substituted = 0,  ///< ranks that lack a variant run another one of the same protocol
  grouped = 1,  ///< ranks of a kind do their part with variants of their own, a bridge joins them
};
constexpr std::array<Named<CompositionMode>, 2> enum_names(CompositionMode) {
  return {{{CompositionMode::substituted, "substituted"}, {CompositionMode::grouped, "grouped"}}};
}
constexpr std::string_view enum_title(CompositionMode) { return "composition mode"; }

/// When the ranks of some kinds run a variant. Stored and sent by name.
enum class PartRole {
  whole = 0,   ///< it is the whole call (substituted)
  before = 1,  ///< among the ranks of a group, before the bridge
  bridge = 2,  ///< among the groups' leaders
  after = 3,   ///< among the ranks of a group, behind the bridge
};
constexpr std::array<Named<PartRole>, 4> enum_names(PartRole) {
  return {{{PartRole::whole, "whole"},
           {PartRole::before, "before"},
           {PartRole::bridge, "bridge"},
           {PartRole::after, "after"}}};
}
constexpr std::string_view enum_title(PartRole) { return "part role"; }

/// What the ranks of some kinds run.
struct Part {
  PartRole role = PartRole::whole;
  std::vector<std::string> kinds;  ///< digest_of_value(MemberKind), ascending; the bridge: none
  Variant variant;

  friend bool operator==(const Part&, const Part&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Part>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("role", self.role);
  visit("kinds", self.kinds);
  visit("variant", self.variant);
}

/// What the ranks of each kind run, where that is not one variant for all. A group is the ranks of
/// one node whose kinds stand together in a part.
struct Composition {
  CompositionMode mode = CompositionMode::substituted;
  std::vector<Part> parts;

  friend bool operator==(const Composition&, const Composition&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Composition>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("mode", self.mode);
  visit("parts", self.parts);
}

/// "p" and 16 digits of the composition's digest.
[[nodiscard]] std::string parts_name(const Composition& composition);
/// A composition is named by a variant that no catalogue has, whose parameter `parts` is
/// parts_name(): the first part's with the mode before its name
/// ("substituted.cpu.all_gather_flat{chunk=0,parts=p…}"), or, grouped, the implementations of the
/// bridge and of the first other part ("grouped.all_gather{bridge=…,inside=…,parts=p…}"). Throws
/// Error(invalid_argument) for a composition without the parts that its mode has, and where a
/// part's own parameter is called `parts`.
[[nodiscard]] Variant name_composition(Collective collective, const Composition& composition);
/// The parameter `parts` of a variant that names a composition; empty for any other variant.
[[nodiscard]] std::string_view parts_named_by(const Variant& variant);

}  // namespace colltune
