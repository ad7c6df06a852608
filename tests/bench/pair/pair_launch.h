// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "pair_judge.h"

namespace colltune {

/// Starts `command` twice, the second time as rank 1, with "--rank", "--arena" and "--report"
/// added; reads what both tell, stops the second one where they ask for it and lets it go on when
/// the first one has told how its call ended. Returns when both have ended; kills whoever has not
/// by `deadline`, and leaves one that not even that ends.
[[nodiscard]] std::array<PairReport, pair_ranks> launch_pair(
    const std::vector<std::string>& command, std::chrono::steady_clock::time_point deadline);

}  // namespace colltune
