// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "index.h"

namespace colltune {

/// Whose measurements answer for the asking members.
struct MembersChoice {
  std::vector<const Curve*> curves;            ///< one, or several if all are of the same members
  MembersMatch match = MembersMatch::unknown;  ///< unknown: no choice, and `curves` is empty
  std::string note;  ///< for a person, what the measured members lack; empty if they are the same
};

/// Chooses among `fitting`, which must not be empty. First choice are the curves of exactly the
/// asking members. Otherwise it is a curve of members that can do no more than these: the one whose
/// members can do the most; ties go by the order of keys. Curves of members that can do more, or of
/// unknown members, are never chosen.
[[nodiscard]] MembersChoice choose_by_members(const std::vector<const Curve*>& fitting,
                                              const Members& asking);

/// The curve of `fitting` whose members exceed the asking ones at the fewest ranks. Ties go by the
/// order of keys; curves of unknown members come last.
[[nodiscard]] const Curve& closest_by_members(const std::vector<const Curve*>& fitting,
                                              const Members& asking);

/// Why the measurements of `curve` do not answer for the asking members, for a person.
[[nodiscard]] std::string why_not_for(const Curve& curve, const Members& asking);

}  // namespace colltune
