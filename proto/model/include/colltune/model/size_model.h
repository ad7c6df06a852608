// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "colltune/vocabulary/bytes.h"

namespace colltune {

/// A time that was measured at a message size.
struct TimedSize {
  Bytes size;
  std::chrono::nanoseconds time{};
};

/// The time at `at`, between two measured sizes: linear in log(time) over log(size), since a
/// collective's time follows a power of the size piecewise; linear where a logarithm does not
/// exist (a size or a time of 0). Never outside the two times, so it keeps their order: monotone
/// data give monotone answers. Expects lower.size <= at <= upper.size.
[[nodiscard]] std::chrono::nanoseconds interpolate_time(TimedSize lower, TimedSize upper, Bytes at);

/// The same before it is rounded, in nanoseconds, to compare two variants: rounded times of nearly
/// equal variants would change places from size to size.
[[nodiscard]] double interpolate_precisely(TimedSize lower, TimedSize upper, Bytes at);

/// The time at `at`, beyond the measured sizes, from the nearest one: constant below it (latency
/// rules there), in proportion to the size above it (bandwidth rules there).
[[nodiscard]] std::chrono::nanoseconds extrapolate_time(TimedSize nearest, Bytes at);

/// Where `at` lies between `lower` (0) and `upper` (1), on the axis that interpolate_time uses.
[[nodiscard]] double position_between(Bytes lower, Bytes upper, Bytes at);

/// A ratio (such as a speed-up) at `position` between two: geometric, so that it stays the quotient
/// of two interpolated times; 0, "there is none", where either is 0.
[[nodiscard]] double interpolate_ratio(double lower, double upper, double position);

}  // namespace colltune
