// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace colltune {

/// The name of the environment to which no variables are added; every series includes it.
constexpr std::string_view unchanged_environment = "unchanged";

/// A launch of a sweep in one of its configuration's launch environments. The sweep's summary
/// stores it as `launch_of`. Launches of one turn are compared with each other.
struct SeriesLaunch {
  std::string series;   ///< names the launches that belong together
  std::string command;  ///< digest of the supervised command; another command makes another series
  std::string environment;  ///< its name in the configuration, or unchanged_environment
  int turn = 1;

  friend auto operator<=>(const SeriesLaunch&, const SeriesLaunch&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, SeriesLaunch>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("series", self.series);
  visit("command", self.command);
  visit("environment", self.environment);
  visit("round", self.turn);
}

/// The name under which a sweep's summary stores it, once the sweep ended normally or by its
/// budget.
constexpr std::string_view series_launch_name = "launch_of";

}  // namespace colltune
