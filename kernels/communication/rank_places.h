// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "colltune/kernels/capability.h"
#include "colltune/kernels/communicator.h"

namespace colltune {

/// `raw` as Communicator::places gives it.
[[nodiscard]] RankPlaces renumber_places(const RankPlaces& raw, int ranks);
/// The places of `members` alone, in their order.
[[nodiscard]] RankPlaces places_of_members(const RankPlaces& all, std::span<const int> members);

/// The feature that says in how many places of `level` the ranks of a rank's node are, and its
/// value; 0 where the rank does not know.
[[nodiscard]] std::string places_feature(Locality level);
[[nodiscard]] int count_places(const Capability& capability, Locality level);

}  // namespace colltune
