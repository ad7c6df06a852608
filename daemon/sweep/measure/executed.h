// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cell_context.h"

namespace colltune {

/// Collective over the launch: rank 0 notes in the trials' conditions what libraries that choose
/// for themselves did in them. One rank on which it was something else than the variant names
/// decides; else the first that says it.
void share_executed(CellContext& context);

}  // namespace colltune
