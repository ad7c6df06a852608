// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/db/store.h"
#include "colltune/kernels/implementation.h"
#include "colltune/model/fitted/world_fits.h"

namespace colltune {

/// The step counts of the catalogue's implementations, by Implementation::cost. It knows nothing of
/// mesh reductions, of compositions, of variants that are not in the catalogue, and of those that
/// cannot run with so many ranks. `catalogue` outlives what is returned.
[[nodiscard]] StepCounts step_counts_of(const Implementations& catalogue);

/// The fits of a generation: those of the measured worlds and, by the step counts of `catalogue`,
/// those of worlds of other numbers of ranks. `catalogue` outlives what is returned.
[[nodiscard]] FitMaker fit_maker_of(const Implementations& catalogue);

}  // namespace colltune
