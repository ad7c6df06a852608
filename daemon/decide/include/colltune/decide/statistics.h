// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace colltune {

/// The median of samples and a distribution-free confidence interval for it.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;

  friend bool operator==(const MedianInterval&, const MedianInterval&) = default;
};

/// The middle value, or the mean of the two middle values. `values` must not be empty.
[[nodiscard]] double median_of(std::span<const double> values);

/// The mean of the values without the share `trimmed`, rounded down, of the smallest and of the
/// largest ones. `values` must not be empty, and `trimmed` must be below one half.
[[nodiscard]] double trimmed_mean(std::vector<double> values, double trimmed);

/// How many of the smallest (and of the largest) of `n` samples lie outside the interval that
/// contains the median with at least `confidence`, by order statistics of the binomial
/// distribution. Empty if `n` is too small for that confidence.
[[nodiscard]] std::optional<std::size_t> samples_outside_interval(std::size_t n, double confidence);

/// Two-sided interval; it spans all samples if there are too few for `confidence`. `values` must
/// not be empty.
[[nodiscard]] MedianInterval median_interval(std::span<const double> values, double confidence);

/// The value that the median exceeds with at least `confidence` (one-sided). Empty if there are too
/// few samples.
[[nodiscard]] std::optional<double> median_lower_bound(std::span<const double> values,
                                                       double confidence);

/// The value that the median does not exceed with at least `confidence` (one-sided). Empty if there
/// are too few samples.
[[nodiscard]] std::optional<double> median_upper_bound(std::span<const double> values,
                                                       double confidence);

/// A value that counts more or less than others; `weight` must be above 0.
struct WeightedValue {
  double value = 0;
  double weight = 1;
};

/// The value with half of the weight on either side; `values` must not be empty.
[[nodiscard]] double weighted_median(std::vector<WeightedValue> values);

/// For values of different weight: the value below which half of the weight lies, and bounds for it
/// as above. The bounds are as wide as for the effective number of equal values: the square of the
/// sum of the weights divided by the sum of their squares (Kish 1965). The sign of each value has
/// at most a coin's variance, so groups of unlike values make the bounds wider than necessary and
/// never narrower. With equal weights the result is as above.
[[nodiscard]] MedianInterval median_interval(std::vector<WeightedValue> values, double confidence);
struct MedianBounds {
  std::optional<double> low;
  std::optional<double> high;
};
[[nodiscard]] MedianBounds median_bounds(std::vector<WeightedValue> values, double confidence);

/// The upper bound, with at least `confidence` (one-sided), on the probability of an event that
/// occurred `events` times in `trials` (Clopper and Pearson 1934); 1 without trials.
[[nodiscard]] double rate_upper_bound(std::size_t events, std::size_t trials, double confidence);

}  // namespace colltune
