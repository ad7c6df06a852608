// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "rule_index.h"

#include <limits>
#include <new>

namespace colltune::nccl {

bool RuleIndex::fill(std::span<const Rule> rules) noexcept {
  if (rules.empty()) return true;
  if (rules.size() > std::numeric_limits<std::uint32_t>::max()) return false;
  answers_.reset(new (std::nothrow) Answer[rules.size()]);
  if (!answers_) return false;
  for (const Rule& rule : rules) {
    const auto at = static_cast<std::uint32_t>(size_++);
    answers_[at] = {.min_bytes = rule.min_bytes,
                    .max_bytes = rule.max_bytes,
                    .time_us = rule.time_us,
                    .algorithm = rule.algorithm,
                    .protocol = rule.protocol,
                    .channels = rule.channels};
    Range& answers = answers_of_[rule.function][rule.is_registered];
    if (answers.begin == answers.end) answers = {at, at};
    answers.end = at + 1;
  }
  return true;
}

}  // namespace colltune::nccl
