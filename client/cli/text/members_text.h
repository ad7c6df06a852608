// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "colltune/vocabulary/lookup.h"

namespace colltune {

/// Reads what the ranks of a communicator can do from a file in the form of Members. Throws
/// Error(failed_precondition) where the file cannot be read, Error(invalid_argument) for what it
/// holds; both name option and file.
[[nodiscard]] Members read_members(const std::string& file);

/// For a person, a line for each kind: its ranks, architecture and features. Features that all
/// kinds have stand in a line of their own.
[[nodiscard]] std::string members_text(const Members& members);

/// One of the kinds: its ranks, architecture, and the features that not all kinds have.
[[nodiscard]] std::string kind_text(const Members& members, std::size_t kind);

/// How the measured members compare with those that ask, for a person.
[[nodiscard]] std::string match_text(MembersMatch match);

/// What the ranks of each kind of `members` run, a line for each part.
[[nodiscard]] std::string composition_text(const Composition& composition, const Members& members);

}  // namespace colltune
