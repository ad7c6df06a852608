// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/vocabulary/decision_set.h"
#include "origin.h"

namespace colltune {

/// The decisions of the table file that `origin` names. Throws Error(not_found) if another
/// generation than the file's is asked for.
[[nodiscard]] DecisionSet read_table(const Origin& origin);

/// The decisions of the database, server or table file that `origin` names.
[[nodiscard]] DecisionSet read_decisions(const Origin& origin);

}  // namespace colltune
