// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/composition.h"

#include <algorithm>

#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(StatusCode::invalid_argument, what);
}

/// The first part with `role`; null if there is none.
const Part* part_in(const Composition& composition, PartRole role) {
  const auto found = std::ranges::find(composition.parts, role, &Part::role);
  return found == composition.parts.end() ? nullptr : &*found;
}

/// Throws if a composition lacks parts of its mode, or has others.
void check_parts(const Composition& composition) {
  const auto is_only = [&](auto... roles) {
    return std::ranges::all_of(composition.parts,
                               [&](const Part& part) { return ((part.role == roles) || ...); });
  };
  const bool has_bridge = part_in(composition, PartRole::bridge) != nullptr;
  switch (composition.mode) {
    case CompositionMode::substituted:
      if (!is_only(PartRole::whole) || composition.parts.empty())
        refuse("a substituted composition has at least one part, and no other than whole ones");
      return;
    case CompositionMode::grouped:
      if (!has_bridge || composition.parts.size() < 2 ||
          !is_only(PartRole::before, PartRole::bridge, PartRole::after))
        refuse("a grouped composition has a bridge and at least one part before or after it");
      return;
    case CompositionMode::sequential:
      if (!is_only(PartRole::step) || composition.parts.empty())
        refuse("a sequential composition has a part for each step, and no others");
      break;
    case CompositionMode::merged:
      if (!is_only(PartRole::whole) || composition.parts.size() != 1)
        refuse("a merged composition has one part, a whole one");
      break;
    case CompositionMode::hierarchical:
      if (!has_bridge || composition.parts.size() != 3 ||
          part_in(composition, PartRole::before) == nullptr ||
          part_in(composition, PartRole::after) == nullptr)
        refuse("a hierarchical composition has one part before the bridge, the bridge, and one after it");
      break;
  }
  if (std::ranges::any_of(composition.parts, [](const Part& part) { return !part.kinds.empty(); }))
    refuse("the parts of a " + std::string(name_of(composition.mode)) +
           " composition are run by all ranks, not by kinds of them");
}

}  // namespace

std::string parts_name(const Composition& composition) {
  // Starts with a letter, because digits alone would be parsed as a number.
  return "p" + digest_of_value(composition).substr(0, 16);
}

Variant name_composition(std::string_view operation, const Composition& composition) {
  check_parts(composition);
  const auto implementation_in = [&](PartRole role) {
    return part_in(composition, role)->variant.implementation;
  };
  Variant name{.implementation = std::string(operation), .parameters = {}};
  switch (composition.mode) {
    case CompositionMode::substituted:
      name = composition.parts.front().variant;
      break;
    case CompositionMode::grouped: {
      const auto inside = std::ranges::find_if_not(
          composition.parts, [](const Part& part) { return part.role == PartRole::bridge; });
      name.parameters = {{"bridge", implementation_in(PartRole::bridge)},
                         {"inside", inside->variant.implementation}};
      break;
    }
    case CompositionMode::sequential:
      name.parameters = {{"first", composition.parts.front().variant.implementation},
                         {"last", composition.parts.back().variant.implementation}};
      break;
    case CompositionMode::merged:
      name.parameters = {{"all", composition.parts.front().variant.implementation}};
      break;
    case CompositionMode::hierarchical:
      name.parameters = {{"bridge", implementation_in(PartRole::bridge)},
                         {"inside", implementation_in(PartRole::before)}};
      break;
  }
  if (std::ranges::find(name.parameters, "parts", &Parameter::name) != name.parameters.end())
    refuse(to_string(name) + " cannot be part of a composition: `parts` is taken");
  name.implementation = std::string(name_of(composition.mode)) + "." + name.implementation;
  name.parameters.push_back({"parts", parts_name(composition)});
  std::ranges::sort(name.parameters);
  return name;
}

std::optional<CompositionMode> mode_named_by(const Variant& variant) {
  if (parts_named_by(variant).empty()) return {};
  return parse_name<CompositionMode>(
      std::string_view(variant.implementation).substr(0, variant.implementation.find('.')));
}

bool is_for_certain_members(const Variant& variant) {
  const auto mode = mode_named_by(variant);
  return mode == CompositionMode::substituted || mode == CompositionMode::grouped;
}

std::string_view parts_named_by(const Variant& variant) {
  const bool is_composed =
      std::ranges::any_of(enum_names(CompositionMode{}), [&](const auto& named) {
        return variant.implementation.starts_with(std::string(named.name) + '.');
      });
  if (!is_composed) return {};
  const auto parts = std::ranges::find(variant.parameters, "parts", &Parameter::name);
  const auto* const name =
      parts == variant.parameters.end() ? nullptr : std::get_if<std::string>(&parts->value);
  return name == nullptr ? std::string_view{} : std::string_view(*name);
}

}  // namespace colltune
