// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/fitted/crossover.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// Sizes looked at for each doubling: crossings nearer to each other than 9 % are one.
constexpr int steps_per_doubling = 8;

struct CommonRange {
  Bytes first;
  Bytes last;
  std::vector<Bytes> sizes;  ///< to look at: evenly by logarithm, and all that were measured
};

CommonRange common_range(const CurveSet& set, CurvePair pair) {
  for (const std::size_t curve : {pair.first, pair.second})
    if (curve >= set.curves().size())
      throw Error(StatusCode::invalid_argument,
                  "curve " + std::to_string(curve) + " of " + std::to_string(set.curves().size()));
  const VariantCurve& first = set.curves()[pair.first];
  const VariantCurve& second = set.curves()[pair.second];
  std::vector<Bytes> common;
  for (const CurvePoint& point : first.points)
    if (std::ranges::find(second.points, point.size, &CurvePoint::size) != second.points.end())
      common.push_back(point.size);
  if (common.size() < 2)
    throw Error(StatusCode::invalid_argument,
                first.variant + " and " + second.variant + " have " +
                    std::to_string(common.size()) +
                    " measured size(s) in common; two are needed to compare them");
  CommonRange range{.first = common.front(), .last = common.back(), .sizes = {}};
  const auto low = std::max(static_cast<double>(range.first.value), 1.0);
  const auto high = static_cast<double>(range.last.value);
  for (double size = low; size < high; size *= std::exp2(1.0 / steps_per_doubling))
    range.sizes.push_back({static_cast<std::uint64_t>(std::llround(size))});
  for (const auto* points : {&first.points, &second.points})
    for (const CurvePoint& point : *points)
      if (point.size >= range.first && point.size <= range.last) range.sizes.push_back(point.size);
  std::ranges::sort(range.sizes);
  const auto repeated = std::ranges::unique(range.sizes);
  range.sizes.erase(repeated.begin(), repeated.end());
  return range;
}

/// log(first / second), and half the width of its interval.
struct LogRatio {
  double value = 0;
  double half_width = 0;
  [[nodiscard]] bool is_clear() const { return std::abs(value) > half_width; }
};

double half_width(const FittedTime& fitted) { return std::log(fitted.high / fitted.low) / 2; }

LogRatio ratio_at(const CurveSet& set, CurvePair pair, Bytes size) {
  const FittedTime first = set.predict(pair.first, size);
  const FittedTime second = set.predict(pair.second, size);
  return {.value = std::log(first.time / second.time),
          .half_width = std::hypot(half_width(first), half_width(second))};
}

/// The first size of (low, high] at which the sign is not that at `low`.
Bytes change_between(const CurveSet& set, CurvePair pair, Bytes low, Bytes high,
                     bool is_first_faster) {
  while (high.value - low.value > 1) {
    const Bytes middle{low.value + (high.value - low.value) / 2};
    const bool is_same = (ratio_at(set, pair, middle).value <= 0) == is_first_faster;
    (is_same ? low : high) = middle;
  }
  return high;
}

}  // namespace

CommonSizes find_crossings(const CurveSet& set, CurvePair pair) {
  const CommonRange range = common_range(set, pair);
  std::vector<LogRatio> ratios;
  for (const Bytes size : range.sizes) ratios.push_back(ratio_at(set, pair, size));
  CommonSizes found{.first = range.first,
                    .last = range.last,
                    .is_first_faster = ratios.front().value <= 0,
                    .crossings = {}};
  for (std::size_t i = 1; i < ratios.size(); ++i) {
    const bool is_first_faster = ratios[i - 1].value <= 0;
    if ((ratios[i].value <= 0) == is_first_faster) continue;
    std::size_t low = i - 1;
    while (low > 0 && !ratios[low].is_clear()) --low;
    std::size_t high = i;
    while (high + 1 < ratios.size() && !ratios[high].is_clear()) ++high;
    found.crossings.push_back(
        {.size = change_between(set, pair, range.sizes[i - 1], range.sizes[i], is_first_faster),
         .low = range.sizes[low],
         .high = range.sizes[high],
         .is_first_faster_below = is_first_faster});
  }
  return found;
}

ThresholdLoss loss_of_threshold(const CurveSet& set, CurvePair pair, Bytes threshold) {
  const CommonRange range = common_range(set, pair);
  if (ratio_at(set, pair, range.first).value > 0) std::swap(pair.first, pair.second);
  ThresholdLoss loss{.worst_size = range.first};
  double logs = 0;
  double before = 0;
  for (std::size_t i = 0; i < range.sizes.size(); ++i) {
    const Bytes size = range.sizes[i];
    const double first = set.predict(pair.first, size).time;
    const double second = set.predict(pair.second, size).time;
    const double used = size <= threshold ? first : second;
    const double lost = std::log(used / std::min(first, second));
    if (std::expm1(lost) > loss.worst)
      loss = {.worst = std::expm1(lost),
              .worst_size = size,
              .worst_time = used - std::min(first, second)};
    // Trapezoids, as the measured sizes lie unevenly among the others.
    if (i > 0)
      logs += (lost + before) / 2 *
              std::log(static_cast<double>(size.value) /
                       std::max(static_cast<double>(range.sizes[i - 1].value), 1.0));
    before = lost;
  }
  loss.mean = std::expm1(logs / std::log(static_cast<double>(range.last.value) /
                                         std::max(static_cast<double>(range.first.value), 1.0)));
  return loss;
}

}  // namespace colltune
