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

/// The middle value, or the mean of the two in the middle. `values` is not empty.
[[nodiscard]] double median_of(std::span<const double> values);

/// The mean of the values without the smallest and the largest ones: the share `trimmed` of them on
/// each side, rounded down. `values` is not empty, `trimmed` below one half.
[[nodiscard]] double trimmed_mean(std::vector<double> values, double trimmed);

/// How many of the smallest (and of the largest) of `n` samples lie outside the interval that holds
/// the median with at least `confidence`: order statistics of the binomial distribution. Empty
/// where `n` is too small for that confidence.
[[nodiscard]] std::optional<std::size_t> samples_outside_interval(std::size_t n, double confidence);

/// Two-sided interval; from the smallest to the largest sample where there are too few for
/// `confidence`. `values` is not empty.
[[nodiscard]] MedianInterval median_interval(std::span<const double> values, double confidence);

/// The value that the median exceeds with at least `confidence` (one-sided). Empty where there are
/// too few samples.
[[nodiscard]] std::optional<double> median_lower_bound(std::span<const double> values,
                                                       double confidence);

/// The value that the median does not exceed with at least `confidence` (one-sided). Empty where
/// there are too few samples.
[[nodiscard]] std::optional<double> median_upper_bound(std::span<const double> values,
                                                       double confidence);

/// A value that stands for more or less than others: `weight` is above 0.
struct WeightedValue {
  double value = 0;
  double weight = 1;
};

/// The value with half of the weight on either side; not empty.
[[nodiscard]] double weighted_median(std::vector<WeightedValue> values);

/// Of values of unlike weight: the value at which half of the weight lies below, and bounds for it
/// as above. They are as far out as those of as many equal values as the weights are worth: the
/// square of their sum over the sum of their squares (Kish 1965). The sign of each value has at
/// most the variance of a coin's, so unlike groups of values make the bounds wider than need be,
/// never narrower. With equal weights all is as above.
[[nodiscard]] MedianInterval median_interval(std::vector<WeightedValue> values, double confidence);
struct MedianBounds {
  std::optional<double> low;
  std::optional<double> high;
};
[[nodiscard]] MedianBounds median_bounds(std::vector<WeightedValue> values, double confidence);

/// The rate that the chance of an event does not exceed with at least `confidence` (one-sided),
/// after it came `events` times in `trials` (Clopper and Pearson 1934); 1 without trials.
[[nodiscard]] double rate_upper_bound(std::size_t events, std::size_t trials, double confidence);

}  // namespace colltune
