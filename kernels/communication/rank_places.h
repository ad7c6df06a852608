// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "colltune/kernels/capability.h"
#include "colltune/kernels/communicator.h"

namespace colltune {

/// Turns `raw` into the form that Communicator::places returns.
[[nodiscard]] RankPlaces renumber_places(const RankPlaces& raw, int ranks);
/// The places of `members` only, in their order.
[[nodiscard]] RankPlaces places_of_members(const RankPlaces& all, std::span<const int> members);

/// The name of the feature that holds how many places of `level` the ranks of a rank's node occupy,
/// and its value; 0 if the rank does not know.
[[nodiscard]] std::string places_feature(Locality level);
[[nodiscard]] int count_places(const Capability& capability, Locality level);

}  // namespace colltune
