// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/statistics.h"

#include <gtest/gtest.h>

#include <vector>

namespace colltune {
namespace {

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(median_of(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median_of(std::vector<double>{4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median_of(std::vector<double>{7}), 7);
}

TEST(Statistics, ATrimmedMeanLeavesOutTheEndsOnBothSides) {
  EXPECT_EQ(trimmed_mean({3, 1, 8}, 0), 4);
  EXPECT_EQ(trimmed_mean({3, 1, 1e9}, 1.0 / 3), 3);
  EXPECT_EQ(trimmed_mean({1, 2}, 1.0 / 3), 1.5);  // too few to leave any out
  EXPECT_EQ(trimmed_mean({-1e9, 1, 2, 3, 4, 5, 6, 1e9}, 1.0 / 8), 3.5);
  EXPECT_EQ(trimmed_mean({7}, 0.4), 7);
}

TEST(Statistics, IntervalOfTheMedianIsTheBinomialOne) {
  // Tables of the sign test: at 95 % two-sided, 10 samples leave out 1 on each side, 20 leave out
  // 5, 6 none, and 5 are too few.
  EXPECT_EQ(samples_outside_interval(10, 0.95), 1u);
  EXPECT_EQ(samples_outside_interval(20, 0.95), 5u);
  EXPECT_EQ(samples_outside_interval(6, 0.95), 0u);
  EXPECT_EQ(samples_outside_interval(5, 0.95), std::nullopt);
  EXPECT_EQ(samples_outside_interval(0, 0.95), std::nullopt);
  // The normal approximation takes over without a jump.
  EXPECT_NEAR(double(*samples_outside_interval(500, 0.95)),
              double(*samples_outside_interval(501, 0.95)), 1.5);
  EXPECT_NEAR(double(*samples_outside_interval(100000, 0.95)), 49690, 2);
}

TEST(Statistics, IntervalEndsAreSamples) {
  std::vector<double> values;
  for (int i = 20; i > 0; --i) values.push_back(i);
  EXPECT_EQ(median_interval(values, 0.95), (MedianInterval{.median = 10.5, .low = 6, .high = 15}));
  EXPECT_EQ(median_interval(std::vector<double>{5, 9}, 0.95),
            (MedianInterval{.median = 7, .low = 5, .high = 9}));
}

TEST(Statistics, LowerBoundNeedsEnoughSamples) {
  // One-sided: 0.5^5 = 3.1 % is the chance that five samples all exceed the median.
  EXPECT_EQ(median_lower_bound(std::vector<double>{5, 4, 3, 2, 1}, 0.95), 1);
  EXPECT_EQ(median_lower_bound(std::vector<double>{4, 3, 2, 1}, 0.95), std::nullopt);
  EXPECT_EQ(median_lower_bound({}, 0.95), std::nullopt);
}

TEST(Statistics, UpperBoundIsTheLowerBoundFromTheOtherSide) {
  EXPECT_EQ(median_upper_bound(std::vector<double>{5, 4, 3, 2, 1}, 0.95), 5);
  EXPECT_EQ(median_upper_bound(std::vector<double>{4, 3, 2, 1}, 0.95), std::nullopt);
  EXPECT_EQ(median_upper_bound(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.95), 9);
}

TEST(Statistics, EqualWeightsChangeNothing) {
  for (const std::size_t n : {1u, 2u, 5u, 6u, 10u, 20u, 49u, 100u}) {
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<double>((i * 7919) % 101));
    for (const double weight : {1.0, 1.0 / 3}) {
      std::vector<WeightedValue> weighted;
      for (const double value : values) weighted.push_back({value, weight});
      EXPECT_EQ(median_interval(weighted, 0.95), median_interval(values, 0.95)) << n;
      const MedianBounds bounds = median_bounds(weighted, 0.995);
      EXPECT_EQ(bounds.low, median_lower_bound(values, 0.995)) << n;
      EXPECT_EQ(bounds.high, median_upper_bound(values, 0.995)) << n;
    }
  }
}

TEST(Statistics, WeightedMedianHasHalfOfTheWeightOnEitherSide) {
  EXPECT_EQ(weighted_median({{.value = 3, .weight = 2}}), 3);
  EXPECT_EQ(weighted_median({{.value = 2}, {.value = 1}}), 1.5);
  EXPECT_EQ(weighted_median({{.value = 1}, {.value = 10, .weight = 5}, {.value = 2}}), 10);
  EXPECT_EQ(weighted_median({{.value = 1}, {.value = 10, .weight = 2}, {.value = 2}}), 6);
}

TEST(Statistics, ManyLightValuesDoNotOutweighAFewHeavyOnes) {
  // A hundred ones weigh as much together as ten of 5, 6, ..., 34.
  std::vector<WeightedValue> values;
  for (int i = 0; i < 100; ++i) values.push_back({.value = 1, .weight = 0.1});
  for (int i = 0; i < 30; ++i) values.push_back({.value = 5.0 + i, .weight = 1});
  const MedianInterval interval = median_interval(values, 0.95);
  // Half of the weight of 40 are the ones and ten of the others.
  EXPECT_EQ(interval.median, 14.5);
  // Worth 40^2 / 31 = 51.6 equal values, of which 18 lie outside: a weight of 18 * 40 / 51.6
  // = 13.95, which the ones and three of the others do not exceed, nor 13 of the largest.
  EXPECT_EQ(interval.low, 8);
  EXPECT_EQ(interval.high, 21);
}

TEST(Statistics, UpperBoundOfARate) {
  // Nothing in 100: 1 - 0.05^(1/100). Five in 500: tables of Clopper and Pearson.
  EXPECT_NEAR(rate_upper_bound(0, 100, 0.95), 0.02951, 1e-5);
  EXPECT_NEAR(rate_upper_bound(5, 500, 0.95), 0.02091, 1e-4);
  EXPECT_EQ(rate_upper_bound(0, 0, 0.95), 1);
  EXPECT_EQ(rate_upper_bound(3, 3, 0.95), 1);
}

}  // namespace
}  // namespace colltune
