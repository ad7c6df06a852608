// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "index.h"

namespace colltune {

/// Whose measurements answer for the asking members.
struct MembersChoice {
  std::vector<const Curve*> curves;            ///< one; several where all are of the same members
  MembersMatch match = MembersMatch::unknown;  ///< unknown: none, and `curves` is empty
  std::string
      note;  ///< for a person, what the measured members lack; empty where they are the same
};

/// Chooses among `fitting` (never empty): those of just the asking members; else the one of members
/// that can do no more than them, and among these the one whose members can do the most, ties by
/// the order of keys. Curves of members that can do more, or of whose members nothing is known, are
/// never chosen.
[[nodiscard]] MembersChoice choose_by_members(const std::vector<const Curve*>& fitting,
                                              const Members& asking);

/// The curve of `fitting` whose members exceed the asking ones at the fewest ranks; ties by the
/// order of keys, those of whose members nothing is known last.
[[nodiscard]] const Curve& closest_by_members(const std::vector<const Curve*>& fitting,
                                              const Members& asking);

/// Why what was measured on `curve` does not answer for the asking members, for a person.
[[nodiscard]] std::string why_not_for(const Curve& curve, const Members& asking);

}  // namespace colltune
