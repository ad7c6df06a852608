// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace colltune {

/// The first and the last number of each run of consecutive ones among ascending `numbers`: how
/// ranks and problems are kept with a sweep.
[[nodiscard]] std::vector<std::pair<int, int>> ranges_of(const std::vector<int>& numbers);
/// The same for a person: "0-3,8".
[[nodiscard]] std::string render_ranges(const std::vector<int>& numbers);

}  // namespace colltune
