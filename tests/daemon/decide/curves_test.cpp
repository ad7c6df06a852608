// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "trials.h"

namespace colltune {
namespace {

using literals::trial;
using std::chrono::nanoseconds;

/// By how much the median of a trial's rounds lies beside what was asked for.
const double shift = [] {
  const std::vector<Measurement> one{trial({.variant = "a", .median = 1e6}, literals::key(1024))};
  return curves_of(one).at(0).points.at(0).time / 1e6;
}();

/// What a variant took in a pass that met such a hand-over.
Measurement visit(int pass, int hand_over, double median, std::uint64_t bytes) {
  Measurement measurement = trial({.variant = "a", .median = median}, literals::key(bytes));
  measurement.pass = pass;
  if (hand_over > 0) measurement.conditions.hand_over = nanoseconds(hand_over);
  return measurement;
}

TEST(Curves, WithinOneStateATimeIsTheMeanOfThePasses) {
  const auto curves = curves_of(std::vector{visit(0, 30, 1000, 1024), visit(1, 31, 1210, 1024)});
  ASSERT_EQ(curves.size(), 1U);
  ASSERT_EQ(curves[0].points.size(), 1U);
  EXPECT_NEAR(curves[0].points[0].time, 1100 * shift, 1);
}

// In the far state everything takes 3 times as long, and how many of a size's visits met it is
// luck.
TEST(Curves, ATimeDoesNotDependOnHowManyVisitsMetWhichState) {
  constexpr int near = 30;
  constexpr int far = 160;
  std::vector<Measurement> trials;
  const auto add = [&](std::uint64_t bytes, double time, const std::vector<int>& hand_overs) {
    for (int pass = 0; pass < std::ssize(hand_overs); ++pass) {
      const int met = hand_overs[static_cast<std::size_t>(pass)];
      trials.push_back(visit(pass, met, met == near ? time : 3 * time, bytes));
    }
  };
  add(1024, 1000, {near, near, near, far});
  add(4096, 1000, {far, far, near, far});
  add(16384, 1000, {near, far, near, far});
  const auto curves = curves_of(trials);
  ASSERT_EQ(curves.size(), 1U);
  ASSERT_EQ(curves[0].points.size(), 3U);
  // Both states have half of all visits.
  for (const CurvePoint& point : curves[0].points)
    EXPECT_NEAR(point.time, 1000 * std::sqrt(3) * shift, 2) << point.size.value;
}

// A variant that is dropped has met the states of the first passes alone.
TEST(Curves, WhoLeavesEarlyIsTimedBesideTheOthersInTheSamePasses) {
  std::vector<Measurement> trials;
  for (int pass = 0; pass < 4; ++pass) {
    const bool is_far = pass < 2;
    const double time = is_far ? 3000 : 1000;
    trials.push_back(visit(pass, is_far ? 160 : 30, time, 1024));
    trials.back().is_baseline = true;
    if (!is_far) continue;
    trials.push_back(visit(pass, 160, time / 2, 1024));
    trials.back().variant = {.implementation = "left"};
  }
  const auto curves = curves_of(trials);
  ASSERT_EQ(curves.size(), 2U);
  const auto& baseline = curves[curves[0].is_baseline ? 0 : 1];
  const auto& left = curves[curves[0].is_baseline ? 1 : 0];
  EXPECT_NEAR(baseline.points.at(0).time, 1000 * std::sqrt(3) * shift, 2);
  EXPECT_NEAR(left.points.at(0).time, 500 * std::sqrt(3) * shift, 2);
}

// All variants tell what a pass was like, so what disturbed one of them there counts little.
TEST(Curves, ADisturbedBaselineHardlyChangesWhoLeftEarly) {
  std::vector<Measurement> trials;
  for (int pass = 0; pass < 4; ++pass)
    for (const std::string name : {"base", "b", "c", "d", "e", "left"}) {
      if (name == "left" && pass > 0) continue;
      const bool is_disturbed = name == "base" && pass == 0;
      trials.push_back(visit(pass, 30, name == "left" ? 500 : is_disturbed ? 2000 : 1000, 1024));
      trials.back().variant = {.implementation = name};
      trials.back().is_baseline = name == "base";
    }
  const auto curves = curves_of(trials);
  const auto left = std::ranges::find(curves, "left", [](const SweptCurve& curve) {
    return curve.variant.implementation;
  });
  ASSERT_NE(left, curves.end());
  // Of the five others' first pass, three quarters of which the passes together leave.
  EXPECT_NEAR(left->points.at(0).time, 500 * std::pow(2, -0.75 / 5) * shift, 1);
  EXPECT_THAT(left->passes, ::testing::ElementsAre(1u));
}

TEST(Curves, WithoutHandOversAllPassesWeighAlike) {
  const auto curves = curves_of(
      std::vector{visit(0, 0, 1000, 1024), visit(1, 0, 1000, 1024), visit(2, 0, 8000, 1024)});
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_NEAR(curves[0].points.at(0).time, 2000 * shift, 2);
}

}  // namespace
}  // namespace colltune
