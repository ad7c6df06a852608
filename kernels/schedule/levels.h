// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduled_implementation.h"

namespace colltune {

/// An algorithm with its own settings that can be a level of one that is made of several: what a
/// word of a knob stands for.
struct Level {
  std::string word;  ///< "ring_both" of cpu.all_gather_ring{ways=both}
  ScheduledAlgorithm algorithm;
  Variant settings;
};
using Levels = std::shared_ptr<const std::vector<Level>>;

/// The scheduled algorithms of `all` for `collective`, with each of their settings. `across`:
/// without those that only differ where memory is shared.
[[nodiscard]] Levels levels_for(const Implementations& all, Collective collective, bool across);

/// The level by itself, as a variant of its algorithm: plain buffers, in one wave.
[[nodiscard]] Variant variant_of(const Level& level);

[[nodiscard]] Knob knob_of(const std::string& name, const Levels& levels);

/// What `variant` sets `knob` to.
[[nodiscard]] const Level& level_of(const Levels& levels, const Variant& variant,
                                    std::string_view knob);

/// Blocks by rank of a level and index.
using Blocks = std::vector<std::vector<Block>>;

/// Writes calls of one level into a schedule.
class LevelWriter {
 public:
  /// `is_last`: a result of this level is all ranks'.
  LevelWriter(ScheduleWriter& writer, const Level& level, bool is_last)
      : writer_(writer), level_(level), is_last_(is_last) {}

  /// Into how many pieces the level cuts each message of `ranks` ranks.
  [[nodiscard]] static int pieces(const Level& level, int ranks);

  void draw(std::vector<int> ranks, Blocks inputs, Blocks outputs, int root = 0) const;

 private:
  ScheduleWriter& writer_;
  const Level& level_;
  bool is_last_;
};

}  // namespace colltune
