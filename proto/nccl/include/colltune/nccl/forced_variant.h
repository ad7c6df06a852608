// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "colltune/nccl/choice.h"
#include "colltune/vocabulary/variant.h"

namespace colltune::nccl {

/// The name of the implementation whose variants are NCCL's choices for one collective, forced.
inline std::string forced_name(Function function) {
  return "nccl." + std::string(name_of(collective_of(function))) + "_forced";
}

/// The choice that a forced variant names by its parameters algorithm, channels and protocol; empty
/// if NCCL has no such choice.
inline std::optional<Choice> choice_of(const Variant& variant) {
  if (variant.parameters.size() != 3) return std::nullopt;
  Choice choice;
  bool has_algorithm = false;
  bool has_protocol = false;
  bool has_channels = false;
  const auto read_name = [](const Parameter& parameter, auto& into) {
    for (const auto& named : enum_names(into))
      if (to_string(parameter.value) == named.name) {
        into = named.value;
        return true;
      }
    return false;
  };
  for (const Parameter& parameter : variant.parameters) {
    if (parameter.name == "algorithm") has_algorithm = read_name(parameter, choice.algorithm);
    if (parameter.name == "protocol") has_protocol = read_name(parameter, choice.protocol);
    const auto* const count = std::get_if<std::int64_t>(&parameter.value);
    if (parameter.name == "channels" && count != nullptr && *count >= 0 &&
        *count <= most_channels) {
      choice.channels = static_cast<int>(*count);
      has_channels = true;
    }
  }
  if (!has_algorithm || !has_protocol || !has_channels) return std::nullopt;
  return choice;
}

}  // namespace colltune::nccl
