// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

namespace colltune::cpu {

/// A power of two of members made of any number of ranks: as many as needed of the first ones are
/// pairs of neighbours, for which the second of them acts (Thakur, Rabenseifner, Gropp 2005).
struct JoinedRanks {
  explicit JoinedRanks(int ranks)
      : count(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        joined(ranks - count) {}

  /// The one that acts.
  [[nodiscard]] int rank(int member) const {
    return member < joined ? 2 * member + 1 : member + joined;
  }
  /// Which one a rank is part of.
  [[nodiscard]] int member(int of_rank) const {
    return of_rank < 2 * joined ? of_rank / 2 : of_rank - joined;
  }

  int count;
  int joined;  ///< pairs that are one member
};

}  // namespace colltune::cpu
