// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/fitted/alpha_beta.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "colltune/vocabulary/error.h"
#include "planted.h"

namespace colltune {
namespace {

using testing::nine_sizes;
using testing::planted;

double size_of(Bytes size) { return static_cast<double>(size.value); }

TEST(FitLine, FindsAlphaAndBetaThroughNoise) {
  std::mt19937_64 random(1);
  const AlphaBeta truth{.alpha = 900, .beta = 0.25};
  for (int i = 0; i < 20; ++i) {
    const auto points = planted(
        nine_sizes(), [&](Bytes size) { return truth.at(size); }, random, 0.03);
    const AlphaBeta found = fit_line(points);
    EXPECT_NEAR(found.alpha / truth.alpha, 1, 0.08);
    EXPECT_NEAR(found.beta / truth.beta, 1, 0.08);
  }
}

TEST(FitLine, ADisturbedPointDoesNotTurnIt) {
  std::mt19937_64 random(2);
  const AlphaBeta truth{.alpha = 900, .beta = 0.25};
  auto points = planted(
      nine_sizes(), [&](Bytes size) { return truth.at(size); }, random, 0.01);
  points[3].time *= 5;
  const AlphaBeta found = fit_line(points);
  EXPECT_NEAR(found.alpha / truth.alpha, 1, 0.06);
  EXPECT_NEAR(found.beta / truth.beta, 1, 0.06);
}

TEST(FitLine, NeverFalls) {
  const AlphaBeta found =
      fit_line(std::vector<CurvePoint>{{{64}, 300}, {{256}, 200}, {{1024}, 100}});
  EXPECT_EQ(found.beta, 0);
  EXPECT_GT(found.alpha, 100);
  EXPECT_LT(found.alpha, 300);
  EXPECT_EQ(fit_line(std::vector<CurvePoint>{{{64}, 300}}), (AlphaBeta{.alpha = 300}));
}

TEST(FitLine, RefusesWhatIsNoCurve) {
  const auto fit = [](std::vector<CurvePoint> points) { return fit_line(points); };
  EXPECT_THROW((void)fit({}), Error);
  EXPECT_THROW((void)fit({{{64}, 0}}), Error);
  EXPECT_THROW((void)fit({{{64}, -1}}), Error);
  EXPECT_THROW((void)fit({{{64}, std::numeric_limits<double>::infinity()}}), Error);
  EXPECT_THROW((void)fit({{{64}, 1}, {{64}, 2}}), Error);
}

TEST(FitCurve, OneLineNeedsOneSegment) {
  std::mt19937_64 random(3);
  int single = 0;
  for (int i = 0; i < 50; ++i)
    single += fit_curve(planted(
                            nine_sizes(), [](Bytes size) { return 500 + 0.1 * size_of(size); },
                            random, 0.02))
                  .segments.size() == 1;
  EXPECT_GE(single, 45);
}

TEST(FitCurve, FindsWhereTheProtocolChanges) {
  std::mt19937_64 random(4);
  // Eager up to 4 KiB, then a rendezvous with another slope.
  const auto truth = [](Bytes size) {
    return size.value <= 4096 ? 400 + 0.4 * size_of(size) : 4000 + 0.11 * size_of(size);
  };
  int found = 0;
  for (int i = 0; i < 50; ++i) {
    const CurveFit fit = fit_curve(planted(nine_sizes(), truth, random, 0.01));
    ASSERT_LE(fit.segments.size(), most_segments);
    found += fit.segments.size() >= 2 &&
             std::ranges::any_of(fit.segments, [](const CurveSegment& segment) {
               return segment.last == Bytes{4096};
             });
  }
  EXPECT_GE(found, 40);
}

TEST(FitCurve, KeepsWhatWasMeasured) {
  // The time falls from 1 KiB to 4 KiB: it is kept, and the line's difference is a residual.
  const std::vector<CurvePoint> measured{
      {{64}, 300}, {{256}, 310}, {{1024}, 900}, {{4096}, 500}, {{16384}, 1500}};
  const CurveFit fit = fit_curve(measured);
  EXPECT_EQ(fit.points, measured);
  ASSERT_EQ(fit.residuals.size(), measured.size());
  for (const CurvePoint& point : measured) EXPECT_EQ(time_at(fit, point.size), point.time);
}

TEST(FitCurve, TakesPointsInAnyOrderAndFewOfThem) {
  const CurveFit two = fit_curve({{{4096}, 500}, {{64}, 100}});
  ASSERT_EQ(two.segments.size(), 1U);
  EXPECT_EQ(two.points.front().size, Bytes{64});
  EXPECT_NEAR(time_at(two, {2080}), 300, 1e-6);
  const CurveFit one = fit_curve({{{64}, 100}});
  EXPECT_EQ(time_at(one, {32}), 100);
  EXPECT_EQ(time_at(one, {128}), 200);  // nothing is known of its latency
  EXPECT_THROW((void)fit_curve({}), Error);
  EXPECT_THROW((void)fit_curve({{{64}, 1}, {{64}, 1}}), Error);
}

TEST(TimeAt, LiesWithinReasonBetweenPointsOfAMonotoneCurve) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {
    std::vector<CurvePoint> points;
    double time = 100;
    for (const Bytes size : nine_sizes()) {
      time *= 1 + static_cast<double>(random() % 1000) / 300;
      points.push_back({size, time});
    }
    const CurveFit fit = fit_curve(points);
    for (std::size_t j = 0; j + 1 < points.size(); ++j)
      for (const std::uint64_t part : {1, 2, 3, 5, 7}) {
        const Bytes size{points[j].size.value +
                         (points[j + 1].size.value - points[j].size.value) * part / 8};
        EXPECT_GE(time_at(fit, size), 0.8 * points[j].time);
        EXPECT_LE(time_at(fit, size), 1.25 * points[j + 1].time);
      }
  }
}

TEST(TimeAt, BeyondTheMeasuredSizes) {
  std::mt19937_64 random(6);
  const AlphaBeta truth{.alpha = 1000, .beta = 0.5};
  const CurveFit fit = fit_curve(planted(
      nine_sizes(), [&](Bytes size) { return truth.at(size); }, random));
  EXPECT_NEAR(time_at(fit, {16u << 20}) / truth.at({16u << 20}), 1, 0.01);
  EXPECT_NEAR(time_at(fit, {16}) / truth.at({16}), 1, 0.02);
  EXPECT_LE(time_at(fit, {16}), time_at(fit, {64}));
}

TEST(TimeByPair, IsTheLineThroughBoth) {
  const CurvePoint lower{{1000}, 200};
  const CurvePoint upper{{2000}, 300};
  EXPECT_NEAR(time_by_pair(lower, upper, {1500}), 250, 1e-9);
  EXPECT_NEAR(time_by_pair(lower, upper, {500}), 150, 1e-9);
  EXPECT_NEAR(time_by_pair(lower, upper, {4000}), 500, 1e-9);
  // A falling pair: no line goes on falling.
  EXPECT_NEAR(time_by_pair({{1000}, 300}, {{2000}, 200}, {1500}), 250, 1e-9);
  EXPECT_EQ(time_by_pair({{1000}, 300}, {{2000}, 200}, {500}), 300);
  EXPECT_EQ(time_by_pair({{1000}, 300}, {{2000}, 200}, {4000}), 400);
}

TEST(BentTimeAt, FollowsAParabolaOfTheLogarithmsBetterThanALine) {
  // Times grow faster and faster, without a break.
  const auto truth = [](Bytes size) {
    const double x = std::log(size_of(size));
    return std::exp(5 + 0.06 * x * x);
  };
  std::mt19937_64 random(2);
  const CurveFit fit = fit_curve(planted(nine_sizes(), truth, random));
  for (std::uint64_t size = 512; size <= 1u << 20; size *= 4) {
    const double bent = std::abs(std::log(bent_time_at(fit, {size}) / truth({size})));
    const double straight = std::abs(std::log(time_at(fit, {size}) / truth({size})));
    EXPECT_LT(bent, straight) << size;
    EXPECT_LT(bent, 0.2) << size;
  }
}

TEST(BentTimeAt, IsAsStraightWhereThereIsNothingToBend) {
  std::mt19937_64 random(3);
  const CurveFit fit = fit_curve(planted(
      nine_sizes(), [](Bytes size) { return 300 + size_of(size); }, random, 0.2));
  for (const CurvePoint& point : fit.points) EXPECT_EQ(bent_time_at(fit, point.size), point.time);
  for (const std::uint64_t outside : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{1} << 30})
    EXPECT_EQ(bent_time_at(fit, {outside}), time_at(fit, {outside}));
  const CurveFit from_nothing = fit_curve({{{0}, 100}, {{1024}, 200}, {{4096}, 500}});
  EXPECT_EQ(bent_time_at(from_nothing, {512}), time_at(from_nothing, {512}));
  const CurveFit single = fit_curve({{{1024}, 200}});
  for (const std::uint64_t size : {64, 1024, 4096})
    EXPECT_EQ(bent_time_at(single, {size}), time_at(single, {size}));
  // Two points have one slope: the mean of the line and of the line through the logarithms.
  const CurveFit two = fit_curve({{{1024}, 200}, {{4096}, 500}});
  EXPECT_NEAR(bent_time_at(two, {2048}), std::sqrt(300 * std::sqrt(200 * 500.0)), 1e-9);
}

}  // namespace
}  // namespace colltune
