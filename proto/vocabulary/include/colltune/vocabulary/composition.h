// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "colltune/vocabulary/names.h"
#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/variant.h"

namespace colltune {

/// How several variants make up one call. Stored and sent by name. The first two are for ranks that
/// cannot all run one variant (of a mesh reduction: its merged form), the others for mesh
/// reductions.
enum class CompositionMode {
  substituted = 0,  ///< ranks that lack a variant run another one of the same protocol
  grouped = 1,  ///< ranks of a kind do their part with variants of their own, a bridge joins them
  sequential = 2,    ///< one all_reduce for each step, in their order
  merged = 3,        ///< one all_reduce over all ranks that the steps connect
  hierarchical = 4,  ///< reduce_scatter in the groups of a step, all_reduce across, all_gather
};
constexpr std::array<Named<CompositionMode>, 5> enum_names(CompositionMode) {
  return {{{CompositionMode::substituted, "substituted"},
           {CompositionMode::grouped, "grouped"},
           {CompositionMode::sequential, "sequential"},
           {CompositionMode::merged, "merged"},
           {CompositionMode::hierarchical, "hierarchical"}}};
}
constexpr std::string_view enum_title(CompositionMode) { return "composition mode"; }

/// When the ranks of some kinds run a variant. Stored and sent by name.
enum class PartRole {
  whole = 0,   ///< it is the whole call (substituted), or all_reduces all steps (merged)
  before = 1,  ///< among the ranks of a group, before the bridge
  bridge = 2,  ///< among the groups' leaders; hierarchical: among the ranks with the same share
  after = 3,   ///< among the ranks of a group, behind the bridge
  step = 4,    ///< one step of a mesh reduction, among the ranks of its groups
};
constexpr std::array<Named<PartRole>, 5> enum_names(PartRole) {
  return {{{PartRole::whole, "whole"},
           {PartRole::before, "before"},
           {PartRole::bridge, "bridge"},
           {PartRole::after, "after"},
           {PartRole::step, "step"}}};
}
constexpr std::string_view enum_title(PartRole) { return "part role"; }

/// What the ranks of some kinds run; where no kinds are named, what all ranks run.
struct Part {
  /// Digests of parts without a step stay those from before there were mesh reductions.
  using omits_empty_fields = void;

  PartRole role = PartRole::whole;
  std::vector<std::string> kinds;  ///< digest_of_value(MemberKind), ascending; the bridge: none
  Variant variant;
  /// The step of the mesh reduction whose groups it runs in; empty in all other places.
  std::optional<int> step{};

  friend bool operator==(const Part&, const Part&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Part>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("role", self.role);
  visit("kinds", self.kinds);
  visit("variant", self.variant);
  visit("step", self.step);
}

/// What the ranks run, where that is not one variant for all of the call. A group of a grouped one
/// is the ranks of one node whose kinds stand together in a part.
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
/// A composition is named by a variant that no catalogue has, whose implementation begins with its
/// mode and whose parameter `parts` is parts_name(): "substituted." and the first part's name
/// ("substituted.cpu.all_gather_flat{chunk=0,parts=p…}"), else `operation` (operation_name() of the
/// problem) and the implementations of some parts
/// ("grouped.all_reduce{bridge=…,inside=…,parts=p…}",
/// "hierarchical.mesh_reduce{bridge=…,inside=…,parts=p…}"). Throws Error(invalid_argument) for a
/// composition without the parts that its mode has, and where a part's own parameter is called
/// `parts`.
[[nodiscard]] Variant name_composition(std::string_view operation, const Composition& composition);
/// The parameter `parts` of a variant that names a composition; empty for any other variant.
[[nodiscard]] std::string_view parts_named_by(const Variant& variant);
/// The mode of the composition that `variant` names; nothing for any other variant.
[[nodiscard]] std::optional<CompositionMode> mode_named_by(const Variant& variant);
/// Whether `variant` names a composition for certain kinds of ranks, which only communicators of
/// exactly these members can run.
[[nodiscard]] bool is_for_certain_members(const Variant& variant);

}  // namespace colltune
