// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "colltune/model/fitted/curve_set.h"

namespace colltune {

/// Two curves of a set.
struct CurvePair {
  std::size_t first = 0;
  std::size_t second = 0;
};

/// A size at which the other of two variants becomes the faster one.
struct CurveCrossing {
  Bytes size;
  /// The sizes around it at which the set's confidence does not tell the two apart. What was
  /// measured bounds them.
  Bytes low;
  Bytes high;
  bool is_first_faster_below = false;

  friend bool operator==(const CurveCrossing&, const CurveCrossing&) = default;
};

/// The sizes at which both curves were measured, and all between them.
struct CommonSizes {
  Bytes first;
  Bytes last;
  bool is_first_faster = false;          ///< at the first size; of equal ones the first
  std::vector<CurveCrossing> crossings;  ///< by size
};

/// Where two curves meet, from the smallest to the largest size that both were measured at; nothing
/// is said beyond. Throws Error(invalid_argument) if they have fewer than two sizes in common, or
/// if there is no such curve.
[[nodiscard]] CommonSizes find_crossings(const CurveSet& set, CurvePair pair);

/// What a constant threshold costs.
struct ThresholdLoss {
  double worst = 0;  ///< time / time of the faster one - 1, at worst
  Bytes worst_size;
  double worst_time = 0;  ///< lost in a call of that size, in ns
  double mean = 0;        ///< of the geometric mean over all common sizes, evenly by logarithm
};

/// What is lost by using the one that is faster at the first common size up to `threshold`, and the
/// other one above, beside always using the faster one. Throws as find_crossings.
[[nodiscard]] ThresholdLoss loss_of_threshold(const CurveSet& set, CurvePair pair, Bytes threshold);

}  // namespace colltune
