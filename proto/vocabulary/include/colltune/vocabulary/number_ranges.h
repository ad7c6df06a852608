// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace colltune {

/// The first and last number of each run of consecutive numbers in ascending `numbers`. Ranks and
/// problems are stored with a sweep in this form.
[[nodiscard]] std::vector<std::pair<int, int>> ranges_of(const std::vector<int>& numbers);
/// The same for a person, for example "0-3,8".
[[nodiscard]] std::string render_ranges(const std::vector<int>& numbers);

}  // namespace colltune
