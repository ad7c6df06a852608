// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "colltune/table_file/table_content.h"
#include "index.h"

namespace colltune {

/// The answers of `curves`, each range of sizes once. They come from rank_around() and
/// choose_by_fits() alone, which are asked at the ends of the intervals in which the same variants
/// can run, and between two ends that differ by bisection. Interpolated times are straight lines,
/// so the fastest variants between two measured sizes follow each other and none comes back. With
/// fits, one may come back; so intervals are cut where another may be chosen.
[[nodiscard]] std::vector<AnswerGroup> answer_groups(const std::vector<const Curve*>& curves);

}  // namespace colltune
