// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "cell_context.h"

namespace colltune {

/// Makes verified runs (`plan.soak`) of every variant that would win over all families or in its
/// own, by the measurements of this visit and the earlier ones, until every winner has had them in
/// this launch. None takes longer than `most` (0: unlimited). So the winners are soaked whichever
/// visit turns out to be the last. Collective over the launch.
void soak_winners(CellContext& context, std::chrono::nanoseconds most, const AbortFlag& stop);

}  // namespace colltune
