// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/duel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "colltune/decide/rounds.h"
#include "trials.h"

namespace colltune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::NanSensitiveDoubleEq;

const double void_round = std::numeric_limits<double>::quiet_NaN();

TEST(Rounds, MedianOfTheSamplesThatCount) {
  Measurement trial{.samples_per_round = 3, .calls_per_sample = 10};
  for (const int ns : {100, 300, 200, 10, 9000, 20, 1, 2, 3, 70}) trial.samples.emplace_back(ns);
  EXPECT_THAT(round_medians(trial), ElementsAre(20, 2, 0.2, 7));
  trial.marks = {0, 0, 0, 0, 1, 0, 4, 2, 3, 0};
  EXPECT_THAT(round_medians(trial), ElementsAre(20, 1.5, NanSensitiveDoubleEq(void_round), 7));
}

TEST(Rounds, RatiosAreOfRoundsThatBothHave) {
  EXPECT_THAT(paired_ratios(std::vector<double>{10, void_round, 30, 40},
                            std::vector<double>{5, 1, void_round, 20, 7}),
              ElementsAre(2, 2));
}

std::vector<double> constant(double value, std::size_t rounds) {
  return std::vector<double>(rounds, value);
}

TEST(Duel, BoundsAreOrderStatistics) {
  std::vector<double> rival;
  for (int i = 1; i <= 10; ++i) rival.push_back(1000.0 / (1 + 0.01 * i));
  const Duel duel = fight(constant(1000, 10), rival, 0.05);
  EXPECT_EQ(duel.rounds, 10u);
  EXPECT_NEAR(duel.ratio, 1.055, 1e-4);
  EXPECT_NEAR(*duel.low, 1.02, 1e-9);
  EXPECT_NEAR(*duel.high, 1.09, 1e-9);
  EXPECT_NEAR(duel.highest, 1.10, 1e-9);
  EXPECT_EQ(duel.modes, std::nullopt);
}

TEST(Duel, TheOtherWayRoundItIsTheInverse) {
  const std::vector<double> one{1000, 1100, 900, 1050, 1020, 980};
  const std::vector<double> other{950, 1000, 990, 940, 1000, 930};
  const Duel there = fight(one, other, 0.05);
  const Duel back = fight(other, one, 0.05);
  EXPECT_NEAR(there.ratio * back.ratio, 1, 1e-12);
  EXPECT_NEAR(*there.low * *back.high, 1, 1e-12);
}

TEST(Duel, TooFewRoundsHaveNoBounds) {
  const Duel duel = fight(constant(1000, 4), constant(500, 4), 0.05);
  EXPECT_EQ(duel.low, std::nullopt);
  EXPECT_EQ(duel.high, std::nullopt);
  EXPECT_EQ(judge(duel, {}), Standing::open);
  EXPECT_THAT(explain(duel, {}), HasSubstr("4 common round(s) are too few"));
  EXPECT_EQ(judge(fight(constant(1000, 4), constant(1000, 4), 0.05), {}), Standing::beaten);
  EXPECT_EQ(judge({}, {}), Standing::open);
  EXPECT_EQ(fight({}, {}, 0.05), Duel{});
  EXPECT_THAT(explain({}, {}), HasSubstr("no round in common"));
}

TEST(Duel, ProvenNeedsMarginAndBound) {
  EXPECT_EQ(judge({.rounds = 20, .ratio = 1.03, .low = 1.001, .high = 1.06}, {}), Standing::proven);
  EXPECT_EQ(judge({.rounds = 20, .ratio = 1.03, .low = 0.999, .high = 1.06}, {}), Standing::open);
  EXPECT_EQ(judge({.rounds = 20, .ratio = 1.019, .low = 1.01, .high = 1.06}, {}), Standing::beaten);
  EXPECT_EQ(
      judge({.rounds = 20, .ratio = 1.019, .low = 1.01, .high = 1.06}, {.minimum_margin = 0.01}),
      Standing::proven);
}

TEST(Duel, TheGainMustExceedWhatTheTwinShows) {
  const Duel duel{.rounds = 20, .ratio = 1.03, .low = 1.01, .high = 1.06};
  EXPECT_EQ(judge(duel, {}, twin_noise({.rounds = 20, .ratio = 1.02})), Standing::proven);
  // A twin that is slower shows as much noise as one that is faster.
  EXPECT_EQ(judge(duel, {}, twin_noise({.rounds = 20, .ratio = 1 / 1.04})), Standing::open);
  EXPECT_THAT(explain(duel, {}, 1.04), HasSubstr("differs from its own twin by 1.040x"));
  EXPECT_EQ(twin_noise({}), 1);
}

TEST(Duel, TwoModesThatDisagreeAreNoProof) {
  Duel duel{.rounds = 60, .ratio = 1.2, .low = 1.1, .high = 1.3};
  duel.modes = Modes{.low = 0.8, .high = 1.25, .share_high = 0.7};
  EXPECT_EQ(judge(duel, {}), Standing::open);
  EXPECT_THAT(explain(duel, {}), HasSubstr("bimodal: 1.250x in 70 % of 60 common rounds, 0.800x"));
  // Faster by the margin in both.
  duel.modes->low = 1.1;
  EXPECT_EQ(judge(duel, {}), Standing::proven);
  // No further apart than the margin.
  duel.modes = Modes{.low = 1.015, .high = 1.03, .share_high = 0.7};
  EXPECT_EQ(judge(duel, {}), Standing::proven);
}

TEST(Duel, RivalsShareTheRisk) {
  EXPECT_NEAR(risk_of_duel({.confidence = 0.95}, 5), 0.01, 1e-12);
  EXPECT_NEAR(risk_of_duel({.confidence = 0.95}, 0), 0.05, 1e-12);
}

TEST(Modes, TwoGroupsAreFound) {
  std::vector<double> values;
  for (int i = 0; i < 10; ++i) values.push_back(0.001 * i);
  EXPECT_EQ(find_modes(values), std::nullopt);  // too few
  for (int i = 0; i < 10; ++i) values.push_back(0.2 + 0.001 * i);
  const auto modes = find_modes(values);
  ASSERT_TRUE(modes);
  EXPECT_NEAR(modes->low, 0.0045, 1e-9);
  EXPECT_NEAR(modes->high, 0.2045, 1e-9);
  EXPECT_NEAR(modes->share_high, 0.5, 1e-9);
}

TEST(Modes, OutliersAreNoGroup) {
  std::vector<double> values;
  for (int i = 0; i < 18; ++i) values.push_back(0.001 * i);
  values.insert(values.end(), {0.5, 0.51});
  EXPECT_EQ(find_modes(values), std::nullopt);
}

TEST(Modes, ACoarseClockMakesGroups) {
  std::vector<double> values(20, 1.0);
  EXPECT_EQ(find_modes(values), std::nullopt);
  std::fill_n(values.begin(), 8, 0.9);
  const auto modes = find_modes(values);
  ASSERT_TRUE(modes);
  EXPECT_EQ(*modes, (Modes{.low = 0.9, .high = 1.0, .share_high = 0.6}));
}

}  // namespace
}  // namespace colltune
