// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <string>
#include <string_view>

#include "colltune/vocabulary/error.h"

namespace colltune {

/// An enumerator and the stable name under which it is stored, sent and printed.
template <class Enum>
struct Named {
  Enum value;
  std::string_view name;
};

// Each persisted enum `E` defines next to itself `constexpr std::array<Named<E>, N> enum_names(E)`,
// the only list of its names, and `constexpr std::string_view enum_title(E)` for messages. The
// three functions below use them.

template <class Enum>
concept NamedEnum = requires(Enum e) {
  enum_names(e);
};

/// The stable name of `value`.
template <NamedEnum Enum>
[[nodiscard]] constexpr std::string_view name_of(Enum value) {
  for (const auto& named : enum_names(Enum{}))
    if (named.value == value) return named.name;
  return "?";
}

/// "all_reduce, all_gather, …": the choices that an error message lists.
template <NamedEnum Enum>
[[nodiscard]] std::string allowed_names() {
  std::string all;
  for (const auto& named : enum_names(Enum{})) {
    if (!all.empty()) all += ", ";
    all += named.name;
  }
  return all;
}

/// The enumerator called `name`. Throws Error(invalid_argument) with the allowed names.
template <NamedEnum Enum>
[[nodiscard]] Enum parse_name(std::string_view name) {
  for (const auto& named : enum_names(Enum{}))
    if (named.name == name) return named.value;
  throw Error(StatusCode::invalid_argument, "unknown " + std::string(enum_title(Enum{})) + " '" +
                                                std::string(name) + "'; allowed are " +
                                                allowed_names<Enum>());
}

}  // namespace colltune
