// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/fitted/crossover.h"

#include <gtest/gtest.h>

#include <string>

#include "colltune/vocabulary/error.h"
#include "planted.h"

namespace colltune {
namespace {

using testing::nine_sizes;
using testing::planted;

VariantCurve curve(const std::string& name, AlphaBeta line, double deviation = 0,
                   std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  return {.world = "w",
          .problem = "p",
          .implementation = name,
          .variant = name,
          .points = planted(
              nine_sizes(), [&](Bytes size) { return line.at(size); }, random, deviation)};
}

// They meet where 1000 + 0.5 s = 3000 + 0.1 s, at 5000 bytes.
const AlphaBeta low{.alpha = 1000, .beta = 0.5};
const AlphaBeta wide{.alpha = 3000, .beta = 0.1};

TEST(FindCrossings, IsWherePlantedLinesMeet) {
  const CurveSet set({curve("low", low), curve("wide", wide)});
  const CommonSizes found = find_crossings(set, {0, 1});
  EXPECT_EQ(found.first, Bytes{64});
  EXPECT_EQ(found.last, Bytes{4u << 20});
  EXPECT_TRUE(found.is_first_faster);
  ASSERT_EQ(found.crossings.size(), 1U);
  const CurveCrossing& at = found.crossings[0];
  EXPECT_NEAR(static_cast<double>(at.size.value), 5000, 100);
  EXPECT_TRUE(at.is_first_faster_below);
  EXPECT_LE(at.low, at.size);
  EXPECT_GE(at.high, at.size);
  // The order at 4 and 16 KiB was measured.
  EXPECT_GE(at.low, Bytes{4096});
  EXPECT_LE(at.high, Bytes{16384});
  // The other way round it is the same size.
  const CommonSizes turned = find_crossings(set, {1, 0});
  ASSERT_EQ(turned.crossings.size(), 1U);
  EXPECT_NEAR(static_cast<double>(turned.crossings[0].size.value),
              static_cast<double>(at.size.value), 1);  // a tie counts for the first
  EXPECT_FALSE(turned.crossings[0].is_first_faster_below);
}

TEST(FindCrossings, NoiseMovesItLittle) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const CurveSet set({curve("low", low, 0.03, seed), curve("wide", wide, 0.03, seed + 100)});
    const CommonSizes found = find_crossings(set, {0, 1});
    ASSERT_GE(found.crossings.size(), 1U);
    EXPECT_NEAR(std::log(static_cast<double>(found.crossings[0].size.value) / 5000), 0, 0.4);
  }
}

TEST(FindCrossings, ThereMayBeNone) {
  const CurveSet set({curve("low", low), curve("slower", {.alpha = 2000, .beta = 0.6})});
  const CommonSizes found = find_crossings(set, {0, 1});
  EXPECT_TRUE(found.is_first_faster);
  EXPECT_TRUE(found.crossings.empty());
}

TEST(FindCrossings, NeedsTwoCommonSizes) {
  VariantCurve other = curve("other", wide);
  other.points.resize(1);
  const CurveSet set({curve("low", low), other});
  EXPECT_THROW((void)find_crossings(set, {0, 1}), Error);
  EXPECT_THROW((void)find_crossings(set, {0, 2}), Error);
}

TEST(LossOfThreshold, GrowsWithItsDistance) {
  const CurveSet set({curve("low", low), curve("wide", wide)});
  const ThresholdLoss right = loss_of_threshold(set, {0, 1}, {5000});
  EXPECT_LT(right.worst, 0.02);
  const ThresholdLoss late = loss_of_threshold(set, {0, 1}, {262144});
  // At the threshold itself: (1000 + 131072) / (3000 + 26214.4) - 1.
  EXPECT_EQ(late.worst_size, Bytes{262144});
  EXPECT_NEAR(late.worst, 3.52, 0.01);
  EXPECT_NEAR(late.worst_time, 102858, 100);
  EXPECT_GT(late.mean, right.mean);
  EXPECT_LT(late.mean, late.worst);
  // The order of the pair does not matter.
  EXPECT_NEAR(loss_of_threshold(set, {1, 0}, {262144}).worst, late.worst, 1e-12);
  // Too early: the loss is of latency.
  const ThresholdLoss early = loss_of_threshold(set, {0, 1}, {64});
  EXPECT_LT(early.worst_size, Bytes{128});
  EXPECT_NEAR(early.worst, 1.9, 0.1);
}

}  // namespace
}  // namespace colltune
