// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduled_implementation.h"

namespace colltune {

/// An algorithm with its settings that can be one level of an algorithm by levels; a setting of a
/// parameter names it by `word`.
struct Level {
  std::string word;  ///< "ring_both" of cpu.all_gather_ring{ways=both}
  ScheduledAlgorithm algorithm;
  Variant settings;
};
using Levels = std::shared_ptr<const std::vector<Level>>;

/// The scheduled algorithms of `all` for `collective`, with each of their settings. `across`: omits
/// those that differ from others only when memory is shared.
[[nodiscard]] Levels levels_for(const Implementations& all, Collective collective, bool across);

/// The level alone, as a variant of its algorithm: plain buffers, one wave.
[[nodiscard]] Variant variant_of(const Level& level);

[[nodiscard]] ParameterChoices choices_of(const std::string& name, const Levels& levels);

/// The level to which `variant` sets `parameter`.
[[nodiscard]] const Level& level_of(const Levels& levels, const Variant& variant,
                                    std::string_view parameter);

/// Blocks, by rank of a level and index.
using Blocks = std::vector<std::vector<Block>>;

/// Writes calls of one level into a schedule.
class LevelWriter {
 public:
  /// `is_last`: a result of this level combines all ranks' inputs.
  LevelWriter(ScheduleWriter& writer, const Level& level, bool is_last)
      : writer_(writer), level_(level), is_last_(is_last) {}

  /// How many pieces the level cuts each message of `ranks` ranks into.
  [[nodiscard]] static int pieces(const Level& level, int ranks);

  void write(std::vector<int> ranks, Blocks inputs, Blocks outputs, int root = 0) const;

 private:
  ScheduleWriter& writer_;
  const Level& level_;
  bool is_last_;
};

}  // namespace colltune
