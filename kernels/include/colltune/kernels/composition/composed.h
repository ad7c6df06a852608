// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "colltune/kernels/composition/grouped.h"
#include "colltune/kernels/implementation.h"
#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/members.h"

namespace colltune {

/// What ranks of the kind with digest `kind` run in `role`; null if they run nothing in it.
[[nodiscard]] const Part* find_part(const Composition& composition, PartRole role,
                                    std::string_view kind);

/// The groups of a grouped composition. A group is the ranks of one node whose kinds stand together
/// in a part; a rank whose kind stands in none is a group of its own. `nodes`: the node of each
/// member.
[[nodiscard]] Grouping grouping_of(const Composition& composition, const Members& members,
                                   std::span<const int> nodes);

/// Prepares what this rank runs of `composition`. `members` are the communicator's ranks, in their
/// order. Collective. Throws as Implementation::prepare does, and Error(invalid_argument) on all
/// ranks if the composition does not fit these members or names an implementation that `catalogue`
/// lacks.
[[nodiscard]] std::unique_ptr<Operation> prepare_composed(
    Communicator& communicator, const Call& call, const Composition& composition,
    const Members& members, const Implementations& catalogue, Deadline deadline);

}  // namespace colltune
