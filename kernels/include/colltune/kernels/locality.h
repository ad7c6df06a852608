// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "colltune/vocabulary/names.h"

namespace colltune {

/// What ranks can be near one another by: what an algorithm by levels takes together.
enum class Locality {
  node = 0,   ///< they share memory
  numa = 1,   ///< they are bound to cores next to the same memory
  cache = 2,  ///< they are bound to cores under the same last-level cache
};
constexpr std::array<Named<Locality>, 3> enum_names(Locality) {
  return {{{Locality::node, "node"}, {Locality::numa, "numa"}, {Locality::cache, "cache"}}};
}
constexpr std::string_view enum_title(Locality) { return "level"; }

/// Where each rank lives: ranks with the same number on a level are near one another there. A list
/// is empty where all are. Numbers below a node's need be unlike only within it; -1: bound to no
/// such place alone.
struct RankPlaces {
  std::vector<int> node{};
  std::vector<int> numa{};
  std::vector<int> cache{};

  [[nodiscard]] const std::vector<int>& on(Locality level) const {
    return level == Locality::node ? node : level == Locality::numa ? numa : cache;
  }
};

}  // namespace colltune
