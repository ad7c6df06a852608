// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/number_ranges.h"

namespace colltune {

std::vector<std::pair<int, int>> ranges_of(const std::vector<int>& numbers) {
  std::vector<std::pair<int, int>> ranges;
  for (const int number : numbers) {
    if (ranges.empty() || ranges.back().second + 1 != number) ranges.emplace_back(number, number);
    ranges.back().second = number;
  }
  return ranges;
}

std::string render_ranges(const std::vector<int>& numbers) {
  std::string text;
  for (const auto& [first, last] : ranges_of(numbers)) {
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last != first) text += '-' + std::to_string(last);
  }
  return text;
}

}  // namespace colltune
