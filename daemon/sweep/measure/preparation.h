// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cell_context.h"

namespace colltune {

/// How often lost trials are prepared anew in one visit. Each time another variant hung until its
/// limit, and a library may take seconds to make a communicator.
inline constexpr int most_renewals = 8;
/// How many trials may fail, one after another, to be prepared anew before the rest is given up;
/// each may take as long as the limit of a call.
inline constexpr int most_failed_renewals = 2;

/// Collective over the launch: prepares the operation of `trial`, whose data must exist. If that
/// fails, the trial ends, and its ranks get new communicators unless they have kept step.
void prepare_together(CellContext& context, Trial& trial);

/// Collective over the launch: prepares all trials, whose data must exist, since they run by turns:
/// baselines and twins first, then one variant of each implementation after another. Where a rank
/// has no more memory for one, it and all that come after it are unavailable, and so is the one
/// before it, so that the others have room for what they allocate when they run.
void prepare_all(CellContext& context);

/// Collective over the launch, called after a vote in which a trial ended or was lost. Every trial
/// whose operation is lost on a rank (Operation::is_lost) is prepared anew, or ends if that fails.
/// Returns the trials that were prepared anew and go on; what they did since the last vote does not
/// count.
[[nodiscard]] std::vector<Trial*> renew_lost(CellContext& context);

}  // namespace colltune
