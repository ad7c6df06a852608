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
/// cannot all run one variant (for a mesh reduction: its merged form), the others for mesh
/// reductions.
enum class CompositionMode {
  substituted = 0,   ///< ranks that lack a variant run another of the same protocol
  grouped = 1,       ///< each group of ranks runs its own variants; a bridge joins them
  sequential = 2,    ///< one all_reduce for each step, in order
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

/// The part of the call in which ranks of some kinds run a variant. Stored and sent by name.
enum class PartRole {
  whole = 0,   ///< the whole call (substituted), or an all_reduce for all steps (merged)
  before = 1,  ///< among the ranks of a group, before the bridge
  bridge = 2,  ///< among the groups' leaders; hierarchical: among the ranks with the same share
  after = 3,   ///< among the ranks of a group, after the bridge
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

/// What ranks of some kinds run; if no kinds are named, what all ranks run.
struct Part {
  /// Keeps the digests of parts without a step as they were before mesh reductions existed.
  using omits_empty_fields = void;

  PartRole role = PartRole::whole;
  std::vector<std::string> kinds;  ///< digest_of_value(MemberKind), ascending; none for the bridge
  Variant variant;
  /// The step of the mesh reduction in whose groups it runs; empty in all other cases.
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

/// What the ranks run if they do not run one variant for the whole call. A group of a grouped
/// composition is the ranks of one node whose kinds are named together in a part.
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
/// The variant that names a composition. It is in no catalogue; its implementation begins with the
/// mode, and its parameter `parts` is parts_name(). For a substituted one it is "substituted." and
/// the first part's name ("substituted.cpu.all_gather_flat{chunk=0,parts=p…}"). For others it is
/// `operation` (operation_name() of the problem) and the implementations of some parts
/// ("grouped.all_reduce{bridge=…,inside=…,parts=p…}",
/// "hierarchical.mesh_reduce{bridge=…,inside=…,parts=p…}"). Throws Error(invalid_argument) for a
/// composition that lacks parts of its mode, and if a part has a parameter of its own called
/// `parts`.
[[nodiscard]] Variant name_composition(std::string_view operation, const Composition& composition);
/// The parameter `parts` of a variant that names a composition; empty for any other variant.
[[nodiscard]] std::string_view parts_named_by(const Variant& variant);
/// The mode of the composition that `variant` names; empty for any other variant.
[[nodiscard]] std::optional<CompositionMode> mode_named_by(const Variant& variant);
/// Whether `variant` names a composition for certain kinds of ranks, which only communicators with
/// exactly these members can run.
[[nodiscard]] bool is_for_certain_members(const Variant& variant);

}  // namespace colltune
