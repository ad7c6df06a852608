// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "schedule.h"

namespace colltune {

/// The block as text, for a person.
[[nodiscard]] inline std::string describe(const Block& block) {
  const char* const space = block.space == Space::send      ? "send"
                            : block.space == Space::receive ? "receive"
                                                            : "scratch";
  return "block " + std::to_string(block.index) + " of rank " + std::to_string(block.rank) + "'s " +
         space + " memory";
}

/// The block whose memory `block` may share: if only the root knows whether its call is in place,
/// its input and its output count as the same memory.
[[nodiscard]] inline Block memory_of(const ScheduledCall& shape, const Block& block) {
  if (!only_root_knows_in_place(shape.collective) || block.rank != shape.root) return block;
  if (shape.collective == Collective::gather && block.space == Space::send)
    return {block.rank, Space::receive, block.rank};
  if (shape.collective == Collective::scatter && block.space == Space::receive)
    return {block.rank, Space::send, block.rank};
  if (shape.collective == Collective::reduce && block.space == Space::receive)
    return {block.rank, Space::send, block.index};
  return block;
}

[[nodiscard]] inline bool combines(StepKind kind) {
  return kind == StepKind::combine || kind == StepKind::combine_last;
}

/// Calls `act` for what the step's rank itself writes, or reads: the other end of a message belongs
/// to the other rank.
template <class Act>
void for_each_written(const Step& step, Act act) {
  if (step.kind == StepKind::send) return;
  act(step.to);
  if (step.also_to) act(*step.also_to);
}

template <class Act>
void for_each_read(const Step& step, Act act) {
  if (step.kind == StepKind::receive) return;
  for (const Block& block : step.from) act(block);
}

}  // namespace colltune
