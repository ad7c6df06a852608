// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "colltune/vocabulary/lookup.h"

namespace colltune {

/// Reads what the ranks of a communicator can do from a file in the JSON form of Members. Throws
/// Error(failed_precondition) if the file cannot be read, Error(invalid_argument) for invalid
/// contents; both name the option and the file.
[[nodiscard]] Members read_members(const std::string& file);

/// For a person, one line for each kind with its ranks, architecture and features. Features that
/// all kinds have are on their own line.
[[nodiscard]] std::string members_text(const Members& members);

/// One of the kinds: its ranks, its architecture, and the features that not all kinds have.
[[nodiscard]] std::string kind_text(const Members& members, std::size_t kind);

/// How the measured members compare with the asking ones, for a person.
[[nodiscard]] std::string match_text(MembersMatch match);

/// What the ranks of each kind of `members` run, a line for each part.
[[nodiscard]] std::string composition_text(const Composition& composition, const Members& members);

}  // namespace colltune
