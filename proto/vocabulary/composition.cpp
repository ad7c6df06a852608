// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/composition.h"

#include <algorithm>

#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/error.h"

namespace colltune {

std::string parts_name(const Composition& composition) {
  // A letter first: what has digits alone would be read as a number.
  return "p" + digest_of_value(composition).substr(0, 16);
}

Variant name_composition(Collective collective, const Composition& composition) {
  const auto& parts = composition.parts;
  const bool is_grouped = composition.mode == CompositionMode::grouped;
  const auto is_bridge = [](const Part& part) { return part.role == PartRole::bridge; };
  const auto bridge = std::ranges::find_if(parts, is_bridge);
  const auto other = std::ranges::find_if_not(parts, is_bridge);
  if (other == parts.end() || is_grouped != (bridge != parts.end()))
    throw Error(StatusCode::invalid_argument,
                "a composition has at least one part besides the bridge, and a bridge exactly "
                "where it is grouped");
  Variant name;
  if (is_grouped) {
    name.implementation = std::string(name_of(collective));
    name.parameters = {{"bridge", bridge->variant.implementation},
                       {"inside", other->variant.implementation}};
  } else {
    name = other->variant;
  }
  if (std::ranges::find(name.parameters, "parts", &Parameter::name) != name.parameters.end())
    throw Error(StatusCode::invalid_argument,
                to_string(name) + " cannot be part of a composition: `parts` is taken");
  name.implementation = std::string(name_of(composition.mode)) + "." + name.implementation;
  name.parameters.push_back({"parts", parts_name(composition)});
  std::ranges::sort(name.parameters);
  return name;
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
