// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "cell_context.h"

namespace colltune {

/// Verified runs of every variant that would win over all or in its family by what this visit and
/// the earlier ones measured, until all that win have had them in this launch: `plan.soak`, each of
/// them no longer than `most` (0: no bound). So whatever visit turns out to be the last one, who
/// wins by then was soaked. Collective over the launch.
void soak_winners(CellContext& context, std::chrono::nanoseconds most, const AbortFlag& stop);

}  // namespace colltune
