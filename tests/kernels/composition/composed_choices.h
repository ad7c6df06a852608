// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "colltune/kernels/composition/mesh_reduce.h"
#include "conformance.h"

namespace colltune::test {

/// Collectives by groups as random_calls.h takes implementations: one for each collective, whose
/// variants are ways to group the ranks, with stages that `turn` chooses. The same on all ranks,
/// which can all do what this one can. `catalogue` and `known` outlive it. Collective.
[[nodiscard]] Implementations grouped_choices(Communicator& communicator,
                                              const Implementations& catalogue,
                                              ChosenVariants& known, std::size_t turn);

/// The same for `mesh`: an implementation of all_reduce whose variants are the forms that there
/// are. `ranks` outlives it too.
[[nodiscard]] Implementations mesh_choices(Subgroups& ranks, const Implementations& catalogue,
                                           ChosenVariants& known, const MeshReduction& mesh,
                                           std::size_t turn);

/// Makes so many random calls by each of both, with meshes and groupings of as many ranks, and
/// reports faults to GoogleTest. Collective.
void make_composed_random_calls(Communicator& communicator, const Implementations& catalogue,
                                ChosenVariants& known, int calls, std::size_t seed);

}  // namespace colltune::test
