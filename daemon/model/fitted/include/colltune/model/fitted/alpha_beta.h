// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "colltune/vocabulary/bytes.h"

namespace colltune {

/// What was measured at one size.
struct CurvePoint {
  Bytes size;
  double time = 0;  ///< the median of a call, in ns; above 0

  friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

/// time = alpha + beta * size (Hockney 1994). In a curve's first segment alpha is the latency; in
/// later ones it may be negative, since caches and protocols change the slope.
struct AlphaBeta {
  double alpha = 0;  ///< in ns
  double beta = 0;   ///< in ns per byte, never negative

  [[nodiscard]] double at(Bytes size) const {
    return alpha + beta * static_cast<double>(size.value);
  }
  friend bool operator==(const AlphaBeta&, const AlphaBeta&) = default;
};

/// A range of sizes, from its first measured one to its last, and the line through it.
struct CurveSegment {
  Bytes first;
  Bytes last;
  AlphaBeta line;
  std::size_t points = 0;

  friend bool operator==(const CurveSegment&, const CurveSegment&) = default;
};

/// A piecewise line through measured times. Measured times stay what they are: where they differ
/// from the line, the difference is a residual.
struct CurveFit {
  std::vector<CurvePoint> points;      ///< by size, each size once
  std::vector<CurveSegment> segments;  ///< by size
  std::vector<double> residuals;       ///< log(measured / line) of each point
};

inline constexpr std::size_t most_segments = 3;

/// The line whose relative errors are the least by Huber's loss (Huber 1964), so that one disturbed
/// point does not turn it. One point gives a constant. Throws Error(invalid_argument) if there is
/// no point, a time is not above 0 or not finite, or a size occurs twice.
[[nodiscard]] AlphaBeta fit_line(std::span<const CurvePoint> points);

/// At most `most_segments` lines of at least two points each. A further segment must lower the
/// Bayesian information criterion (Schwarz 1978) of the relative errors, in which errors below
/// `noise` (a ratio) count alike: nothing is to be learned from them. Points may come in any order.
/// Throws as fit_line.
[[nodiscard]] CurveFit fit_curve(std::vector<CurvePoint> points, double noise = 0.03);

/// The time at a size, in ns; what was measured where it was measured. Within a segment of at least
/// four points it follows the line, scaled by its neighbours' residuals; elsewhere the line through
/// the two neighbours, as between two segments it is unknown where the protocol changes. Below the
/// first size it follows the line through the first two, but is at least proportional to the size
/// and at most the first time. Beyond the last size it follows the last line, or is proportional
/// to the size where that line has no positive latency.
[[nodiscard]] double time_at(const CurveFit& fit, Bytes size);

/// The same where times bend rather than break, as with more ranks than cores: between two sizes
/// the geometric mean of time_at and of a cubic in the logarithms of size and time, whose slope at
/// each measured size is that of the parabola through it and its neighbours. Outside them as
/// time_at.
[[nodiscard]] double bent_time_at(const CurveFit& fit, Bytes size);

/// The line through two points, of which `lower` has the smaller size. With a falling pair, the
/// time between them is interpolated all the same. Beyond them as time_at.
[[nodiscard]] double time_by_pair(const CurvePoint& lower, const CurvePoint& upper, Bytes size);

}  // namespace colltune
