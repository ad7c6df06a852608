// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cell_context.h"

namespace colltune {

/// Collective over the launch: rank 0 notes in the trials' conditions what libraries that choose
/// for themselves executed. If any rank executed something other than the variant names, that
/// counts; otherwise the first rank that reports a choice.
void share_executed(CellContext& context);

}  // namespace colltune
