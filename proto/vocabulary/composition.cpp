// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/composition.h"

#include <algorithm>

#include "colltune/vocabulary/canonical.h"

namespace colltune {

std::string parts_name(const Composition& composition) {
  // A letter first: what has digits alone would be read as a number.
  return "p" + digest_of_value(composition).substr(0, 16);
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
