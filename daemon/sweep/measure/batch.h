// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cell_context.h"

namespace colltune {

/// A number of runs of one variant, one after another.
struct Batch {
  std::string_view activity;
  /// Runs before those that count. They take the buffers over from the variant that ran before:
  /// what it left in which cache would be the next one's time.
  int takeover = 0;
  int inspected = -1;  ///< run whose result is checked after the clock reads; -1: none
  /// One entry for each run, zero on entry: the packed time and the sum of this rank's RunMarks.
  std::span<std::int64_t> packed;
  std::span<int> marks;
};

/// Collective over the world; ranks beyond it only record the steps. A fault becomes the trial's
/// fault.
void run_batch(CellContext& context, Trial& trial, const Batch& batch);

/// Data of the runs that are checked during timing. It is exact, and differs from the first call's
/// data, so that a result left from the previous run is wrong.
inline constexpr CellData::Check other_data{.pattern = DataPattern::exact, .seed = 1};

}  // namespace colltune
