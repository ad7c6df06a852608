// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/fitted/curve_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "colltune/vocabulary/error.h"
#include "planted.h"

namespace colltune {
namespace {

using testing::nine_sizes;
using testing::noise_factor;
using testing::planted;

double size_of(Bytes size) { return static_cast<double>(size.value); }

/// Curves of variants with unlike latency and bandwidth that all slow down by half from 16 KiB on.
std::vector<VariantCurve> curves_with_a_jump(std::size_t count, double deviation,
                                             std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<VariantCurve> curves;
  for (std::size_t i = 0; i < count; ++i) {
    const double alpha = 300 * noise_factor(random, 0.3);
    const double beta = 0.1 * noise_factor(random, 0.3);
    curves.push_back({.world = "w",
                      .problem = i % 2 == 0 ? "all_reduce" : "broadcast",
                      .implementation = "i" + std::to_string(i % 5),
                      .variant = "v" + std::to_string(i),
                      .points = planted(
                          nine_sizes(),
                          [&](Bytes size) {
                            return (alpha + beta * size_of(size)) * (size.value >= 16384 ? 1.5 : 1);
                          },
                          random, deviation)});
  }
  return curves;
}

double median_error(std::vector<LeftOutTime> all, double (LeftOutTime::*error)() const) {
  std::vector<double> errors;
  for (const LeftOutTime& one : all) errors.push_back((one.*error)());
  std::ranges::sort(errors);
  return errors.at(errors.size() / 2);
}

TEST(CurveSet, ANewSizeIsPredictedBetterThanByInterpolation) {
  const CurveSet set(curves_with_a_jump(40, 0.03, 1));
  for (const FitEvidence evidence : all_fit_evidence) {
    const auto all = set.leave_out(evidence);
    EXPECT_EQ(all.size(), 40U * 9);
    EXPECT_LT(median_error(all, &LeftOutTime::error), median_error(all, &LeftOutTime::error_today));
    for (const LeftOutTime& one : all) EXPECT_EQ(one.fitted.evidence, evidence);
  }
  EXPECT_LT(median_error(set.leave_out(FitEvidence::same_problem), &LeftOutTime::error), 0.06);
  EXPECT_LT(median_error(set.leave_out(FitEvidence::other_problems), &LeftOutTime::error), 0.06);
}

TEST(CurveSet, IntervalsCoverWhatWasLeftOut) {
  // By curves of many seeds: over all of them nine in ten are covered.
  std::size_t covered = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (const LeftOutTime& one :
         CurveSet(curves_with_a_jump(30, 0.05, seed)).leave_out(FitEvidence::same_problem)) {
      ASSERT_TRUE(one.has_interval);
      EXPECT_LE(one.fitted.low, one.fitted.time);
      EXPECT_GE(one.fitted.high, one.fitted.time);
      covered += one.is_covered() ? 1 : 0;
      ++all;
    }
  const double share = static_cast<double>(covered) / static_cast<double>(all);
  EXPECT_GE(share, 0.85);
  EXPECT_LE(share, 0.97);
}

TEST(CurveSet, IntervalsCoverSizesThatNoCurveHas) {
  // Each size in turn is left out everywhere, and asked. Where the times jump, all curves are off
  // in the same way; over all sizes the intervals hold.
  std::size_t covered = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    for (std::size_t out = 0; out < nine_sizes().size(); ++out) {
      auto curves = curves_with_a_jump(15, 0.05, seed);
      std::vector<CurvePoint> truth;
      for (VariantCurve& curve : curves) {
        truth.push_back(curve.points[out]);
        curve.points.erase(curve.points.begin() + static_cast<std::ptrdiff_t>(out));
      }
      const CurveSet set(curves);
      for (std::size_t i = 0; i < curves.size(); ++i) {
        const FittedTime fitted = set.predict(i, truth[i].size);
        EXPECT_EQ(fitted.evidence, FitEvidence::own_curve);
        covered += fitted.low <= truth[i].time && truth[i].time <= fitted.high ? 1 : 0;
        ++all;
      }
    }
  EXPECT_GE(static_cast<double>(covered) / static_cast<double>(all), 0.7);
}

TEST(CurveSet, NeverReplacesWhatWasMeasured) {
  const auto curves = curves_with_a_jump(6, 0.2, 3);
  const CurveSet set(curves);
  for (std::size_t i = 0; i < curves.size(); ++i)
    for (const CurvePoint& point : curves[i].points) {
      const FittedTime fitted = set.predict(i, point.size);
      EXPECT_EQ(fitted.time, point.time);
      EXPECT_EQ(fitted.low, point.time);
      EXPECT_EQ(fitted.high, point.time);
    }
}

TEST(CurveSet, PeersOfAnotherWorldSayNothing) {
  auto curves = curves_with_a_jump(2, 0, 4);
  curves[1].problem = curves[0].problem;
  curves[0].points.erase(curves[0].points.begin() + 4);
  EXPECT_EQ(CurveSet(curves).predict(0, {16384}).evidence, FitEvidence::same_problem);
  curves[1].problem = "another";
  EXPECT_EQ(CurveSet(curves).predict(0, {16384}).evidence, FitEvidence::other_problems);
  curves[1].world = "another";
  EXPECT_EQ(CurveSet(curves).predict(0, {16384}).evidence, FitEvidence::own_curve);
}

TEST(CurveSet, FewPointsGiveAWideInterval) {
  const CurveSet set({{.world = "w", .problem = "p", .variant = "v", .points = {{{64}, 100}}},
                      {.world = "w", .problem = "p", .variant = "empty", .points = {}}});
  ASSERT_EQ(set.curves().size(), 1U);
  const FittedTime fitted = set.predict(0, {128});
  EXPECT_EQ(fitted.time, 200);
  EXPECT_EQ(fitted.low, 100);
  EXPECT_EQ(fitted.high, 400);
  EXPECT_EQ(fitted.position, SizePosition::beyond);
  EXPECT_TRUE(set.leave_out(FitEvidence::own_curve).empty());
  EXPECT_THROW((void)set.predict(1, {64}), Error);
  EXPECT_THROW(CurveSet({}, 1.0), Error);
}

/// Curves of unlike problems and sizes' times, so that none has a sibling, each a parabola of the
/// logarithms, or a line.
std::vector<VariantCurve> lonely_curves(bool is_bent) {
  std::mt19937_64 random(7);
  std::vector<VariantCurve> curves;
  for (int i = 0; i < 20; ++i) {
    const double factor = noise_factor(random, 0.5);
    const auto time = [&](Bytes size) {
      const double x = std::log(size_of(size));
      return factor * (is_bent ? std::exp(5 + 0.06 * x * x) : 300 + size_of(size) / 4);
    };
    curves.push_back({.world = "w" + std::to_string(i),
                      .problem = "p",
                      .variant = "v",
                      .points = planted(nine_sizes(), time, random, 0.02)});
  }
  return curves;
}

TEST(CurveSet, CurvesWithoutSiblingsBendWhereThatIsNearerToTheMeasuredTimes) {
  const CurveSet straight(lonely_curves(false));
  EXPECT_FALSE(straight.is_bent());
  const CurveSet bent(lonely_curves(true));
  EXPECT_TRUE(bent.is_bent());
  std::vector<double> by_line;
  std::vector<LeftOutTime> between = bent.leave_out(FitEvidence::own_curve);
  std::erase_if(
      between, [](const LeftOutTime& one) { return one.fitted.position != SizePosition::between; });
  std::size_t covered = 0;
  for (const LeftOutTime& one : between) {
    std::vector<CurvePoint> others = bent.curves()[one.curve].points;
    std::erase_if(others, [&](const CurvePoint& point) { return point.size == one.size; });
    by_line.push_back(std::abs(time_at(fit_curve(others), one.size) / one.measured - 1));
    covered += one.is_covered() ? 1 : 0;
  }
  std::ranges::sort(by_line);
  EXPECT_LT(median_error(between, &LeftOutTime::error), 0.8 * by_line[by_line.size() / 2]);
  EXPECT_NEAR(static_cast<double>(covered) / static_cast<double>(between.size()), 0.9, 0.07);
}

}  // namespace
}  // namespace colltune
