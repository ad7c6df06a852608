// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

namespace colltune::cpu {

/// Reduces any number of ranks to a power of two of members: as many of the first ranks as needed
/// form pairs of neighbours, and the second rank of a pair acts for it (Thakur, Rabenseifner, Gropp
/// 2005).
struct JoinedRanks {
  explicit JoinedRanks(int ranks)
      : count(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        joined(ranks - count) {}

  /// The rank that acts for a member.
  [[nodiscard]] int rank(int member) const {
    return member < joined ? 2 * member + 1 : member + joined;
  }
  /// The member that a rank belongs to.
  [[nodiscard]] int member(int of_rank) const {
    return of_rank < 2 * joined ? of_rank / 2 : of_rank - joined;
  }

  int count;
  int joined;  ///< pairs that form one member each
};

}  // namespace colltune::cpu
