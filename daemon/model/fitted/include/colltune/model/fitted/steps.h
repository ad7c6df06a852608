// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "colltune/vocabulary/bytes.h"

namespace colltune {

/// What an algorithm does in one call, by its published analysis (colltune/kernels/cost.h). It is
/// given, never guessed from a name: a variant without known steps is not predicted in other
/// worlds.
struct StepCount {
  double steps = 0;           ///< messages one after the other
  double bytes_per_rank = 0;  ///< through one rank's link
};

/// A time of a variant in a world of `ranks` ranks.
struct WorldTime {
  int ranks = 0;
  Bytes size;
  double time = 0;  ///< in ns; above 0
  StepCount count;
};

/// time = overhead + steps * per_step + bytes_per_rank * per_byte, after LogGP (Alexandrov et al.
/// 1995): `per_step` is its latency plus both overheads of a message (or its gap, where that is
/// longer), `per_byte` its gap per byte. Times of whole calls do not tell latency, overhead and gap
/// of a message apart. None is negative.
struct StepFit {
  double overhead = 0;  ///< in ns
  double per_step = 0;  ///< in ns
  double per_byte = 0;  ///< in ns per byte

  [[nodiscard]] double at(const StepCount& count) const {
    return overhead + count.steps * per_step + count.bytes_per_rank * per_byte;
  }
};

/// Fits to times of one variant in at least two worlds, by Huber's loss of relative errors. Throws
/// Error(invalid_argument) if there are fewer worlds, or a time, a step count or bytes that are not
/// finite and above 0.
[[nodiscard]] StepFit fit_steps(std::span<const WorldTime> times);

/// The time of `size` in a world of other ranks, in ns: the fit, corrected by what the variant took
/// over the fit at this very size in the worlds that were measured, as protocols change with the
/// size in all of them. Empty if this size was measured in none.
[[nodiscard]] std::optional<double> time_in_world(const StepFit& fit,
                                                  std::span<const WorldTime> times, Bytes size,
                                                  const StepCount& count);

}  // namespace colltune
