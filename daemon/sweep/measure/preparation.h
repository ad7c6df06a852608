// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cell_context.h"

namespace colltune {

/// So often is what was lost prepared anew in a visit: each time another variant hung until its
/// limit, and a library may take seconds to make a communicator.
inline constexpr int most_renewals = 8;
/// So many trials may fail to be prepared anew, one after the other, before the rest is given up:
/// each may take as long as a call may.
inline constexpr int most_failed_renewals = 2;

/// Collective over the launch: prepares the operation of `trial`, whose data is there. Where that
/// fails the trial ends; its ranks get other communicators, unless they have kept step.
void prepare_together(CellContext& context, Trial& trial);

/// Collective over the launch, after a vote in which a trial ended or was lost: every trial whose
/// operation is lost on a rank (Operation::is_lost) is prepared anew, and ends where that fails.
/// Returns those that were, and go on: what they did since the last vote shows nothing.
[[nodiscard]] std::vector<Trial*> renew_lost(CellContext& context);

}  // namespace colltune
