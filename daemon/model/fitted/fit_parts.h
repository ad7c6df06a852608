// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "colltune/model/fitted/curve_set.h"
#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/fits/variant_fit.h"

/// What the fits within a world and those across worlds are made of.
namespace colltune {

/// The measured times of each variant of one problem, topology, environment and regime, by size.
using CurvesOfVariants = std::map<Variant, std::vector<CurvePoint>>;

/// The first decision that ranks a variant at a size tells its time: the one over all families
/// before those of single ones. Times that are not above 0 are left out.
[[nodiscard]] CurvesOfVariants curves_of_variants(std::vector<const Decision*> decisions);

/// A line from each size on, and the one of the last three beyond them. Expects two points or more.
[[nodiscard]] std::vector<FitSegment> segments_of(std::span<const CurvePoint> points);

/// The line of the times beyond the last size: as `line`, that of the last three, grows from there
/// on, or in proportion to the size where it tells no growth.
[[nodiscard]] AlphaBeta line_from_last(double last_time, Bytes last, const AlphaBeta& line);

/// The size as the number of bytes that lines are computed with.
[[nodiscard]] inline double value_of(Bytes size) { return static_cast<double>(size.value); }

/// A curve of this many points can be judged by leaving one out.
inline constexpr std::size_t least_points = 3;
/// Fewer errors than this say nothing about 90 %.
inline constexpr std::size_t least_errors = 10;
/// The interval that keeps 90 % of the errors, which are absolute logarithms, sorted, not empty.
[[nodiscard]] FitInterval interval_of(const std::vector<double>& errors);

/// Absolute logarithms of measured / predicted, by position. They are taken without sign: beside a
/// jump in the times the errors on its two sides have unlike signs, and nothing says where the
/// asked size lies.
struct LeftOutErrors {
  std::array<std::vector<double>, 3> by_position;

  void add(SizePosition position, double measured, double predicted);
  /// Each time of a curve of at least three, predicted from the others.
  void add_all(std::span<const CurvePoint> points);
  void sort();
  [[nodiscard]] std::vector<double> at_any_position() const;
};

/// That of the problem's errors at the position, where it has enough, else that of the world's at
/// the position, else that of all the world's; half to twice with fewer. Both must be sorted.
[[nodiscard]] FitInterval interval_at(SizePosition position, const LeftOutErrors& of_problem,
                                      const LeftOutErrors& of_world);

}  // namespace colltune
