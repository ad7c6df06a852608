// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>
#include <type_traits>

#include "colltune/vocabulary/members.h"

namespace colltune {

/// What the members of a world that a sweep measured can do. Applies to the decisions of that sweep
/// whose topology has that digest.
struct WorldMembers {
  std::string sweep_uuid;
  std::string topology_digest;  ///< digest_of_value(Topology)
  Members members;

  friend bool operator==(const WorldMembers&, const WorldMembers&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, WorldMembers>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("sweep_uuid", self.sweep_uuid);
  visit("topology_digest", self.topology_digest);
  visit("members", self.members);
}

}  // namespace colltune
