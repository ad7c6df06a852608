// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "colltune/vocabulary/lookup.h"
#include "index.h"
#include "ranking.h"

namespace colltune {

/// The measured sizes around the asked size: one if it was measured itself or lies outside their
/// range.
struct Neighbours {
  const Decision* lower = nullptr;
  const Decision* upper = nullptr;
};
[[nodiscard]] Neighbours find_neighbours(const Curve& curve, Bytes size);

/// The problem as it is asked of a table: its size is rounded.
[[nodiscard]] Asked rounded(const Problem& problem, int ranks);

/// The ranking for an asked size, and what it comes from.
struct RankedAround {
  Ranking ranking;  ///< empty if no variant can run it
  Source source = Source::measured;
  const Decision* basis = nullptr;    ///< a decision that it is based on
  std::vector<Bytes> measured_sizes;  ///< those that it is based on
};
[[nodiscard]] RankedAround rank_around(const Neighbours& around, const Asked& asked);

}  // namespace colltune
