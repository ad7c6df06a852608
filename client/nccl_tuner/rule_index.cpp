// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "rule_index.h"

#include <new>

namespace colltune::nccl {

bool RuleIndex::fill(std::span<const SnapshotRule> rules, std::size_t ranks,
                     std::size_t nodes) noexcept {
  const auto is_ours = [&](const SnapshotRule& rule) {
    return static_cast<std::size_t>(rule.ranks) == ranks &&
           static_cast<std::size_t>(rule.nodes) == nodes;
  };
  std::size_t answers = 0;
  for (const SnapshotRule& rule : rules)
    if (is_ours(rule)) ++answers;
  if (answers == 0) return true;
  // Every group has at least one rule.
  answers_.reset(new (std::nothrow) Answer[answers]);
  groups_.reset(new (std::nothrow) Group[answers]);
  if (!answers_ || !groups_) {
    answers_.reset();
    groups_.reset();
    return false;
  }
  std::uint32_t group = 0;
  SnapshotKey last{};
  for (const SnapshotRule& rule : rules) {
    if (!is_ours(rule)) continue;
    const auto at = static_cast<std::uint32_t>(size_++);
    answers_[at] = {.min_bytes = rule.min_bytes,
                    .max_bytes = rule.max_bytes,
                    .time_us = rule.time_us,
                    .algorithm = rule.algorithm,
                    .protocol = rule.protocol,
                    .channels = static_cast<std::uint8_t>(rule.channels)};
    if (at == 0 || key_of(rule) != last) {
      Range& groups = groups_of_[rule.function][rule.registered];
      if (groups.begin == groups.end) groups = {group, group};
      groups_[group] = {rule.pipe_operations, {at, at}};
      groups.end = ++group;
      last = key_of(rule);
    }
    groups_[group - 1].answers.end = at + 1;
  }
  return true;
}

}  // namespace colltune::nccl
