// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cell_context.h"

namespace colltune {

/// A number of runs of one variant, one after the other.
struct Batch {
  std::string_view phase;
  int inspected = -1;  ///< the run whose result is compared after the clock reads; -1: none
  /// One for each run, of zeros: the packed time and the sum of this rank's RunMarks.
  std::span<std::int64_t> packed;
  std::span<int> marks;
};

/// Collective over the world; ranks beyond it only note the steps. A fault becomes the trial's.
void run_batch(CellContext& context, Trial& trial, const Batch& batch);

/// The data of runs that are compared while timing: exact, and other than that of the first call,
/// so that a result left from the run before is wrong.
inline constexpr CellData::Check other_data{.pattern = DataPattern::exact, .seed = 1};

}  // namespace colltune
