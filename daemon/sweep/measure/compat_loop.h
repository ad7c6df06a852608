// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cell_context.h"
#include "colltune/sweep/measure/compat.h"

namespace colltune {

/// Collective over the launch: times every live trial in the tool's loop. Rank 0 gets the times.
[[nodiscard]] std::vector<CompatTime> time_like(CompatTool tool, CellContext& context);

/// Bytes as OSU counts them: those of one rank's block, if the collective has blocks.
[[nodiscard]] Bytes osu_size(const TuningKey& key);

}  // namespace colltune
