// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "colltune/vocabulary/decision_set.h"

namespace colltune {

/// The decisions as CSV with the quotes of RFC 4180: a first row with the names of the columns, then
/// a row for each ranked variant, ordered by key, family and rank. Every row has all columns; lines
/// end with LF, as terminals and most readers want them. Texts with a comma, a quote or a line's end
/// are quoted. Throws Error(not_found) if there is no decision.
[[nodiscard]] std::string export_csv(const DecisionSet& set);

}  // namespace colltune
