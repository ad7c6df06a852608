// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace colltune {

/// The name of the environment in which nothing is set besides: one of a series' in any case.
constexpr std::string_view unchanged_environment = "unchanged";

/// A launch of a sweep in one of its configuration's launch environments; the sweep's summary keeps
/// it, as `launch_of`. The launches of one round are compared with each other.
struct SeriesLaunch {
  std::string series;   ///< names the launches that belong together
  std::string command;  ///< digest of the supervised command: of another one it is another series
  std::string environment;  ///< its name in the configuration, or unchanged_environment
  int round = 1;

  friend auto operator<=>(const SeriesLaunch&, const SeriesLaunch&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, SeriesLaunch>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("series", self.series);
  visit("command", self.command);
  visit("environment", self.environment);
  visit("round", self.round);
}

/// Under this name a sweep's summary has it, once the sweep ended in order or by its budget.
constexpr std::string_view series_launch_name = "launch_of";

}  // namespace colltune
