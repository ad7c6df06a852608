// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "extremes.h"

#include <algorithm>

namespace colltune {

void ExtremesExchange::exchange(ControlPlane& control) {
  std::vector<std::int64_t> words;
  for (const Extreme* one : extremes_) words.push_back(one->word_);
  for (const auto numbers : numbers_) words.insert(words.end(), numbers.begin(), numbers.end());
  control.all_reduce_max(words);
  auto next = words.begin();
  for (Extreme* one : extremes_) one->word_ = *next++;
  for (const auto numbers : numbers_)
    for (std::int64_t& number : numbers) number = *next++;
}

}  // namespace colltune
