// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/environment_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "colltune/decide/decide.h"
#include "colltune/vocabulary/error.h"
#include "trials.h"

namespace colltune {
namespace {

using literals::key;
using literals::trial;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::vector<std::string> names{"unchanged", "set"};

/// Nanoseconds of the baseline and of its rival.
struct Times {
  double base = 0;
  double rival = 0;
  std::string rivals_name = "rival";
};

EnvironmentLaunch launch(const std::string& environment, int turn, const Times& times,
                         const std::vector<std::uint64_t>& sizes = {1024}) {
  EnvironmentLaunch launch{
      .environment = environment, .turn = turn, .measurements = {}, .decisions = {}};
  for (const std::uint64_t bytes : sizes) {
    TuningKey filed_under = key(bytes);
    filed_under.environment_digest = "digest of " + environment;
    launch.measurements.push_back(trial({"base", times.base, true}, filed_under));
    launch.measurements.push_back(trial({times.rivals_name, times.rival}, filed_under));
  }
  launch.decisions = decide(launch.measurements, {}, "sweep");
  return launch;
}

EnvironmentComparison compare(const std::vector<EnvironmentLaunch>& launches) {
  return compare_environments(launches, names, {});
}

TEST(EnvironmentComparison, OnlyLaunchesOfTheSameRoundAreCompared) {
  // The machine becomes slower with each turn; the setting is worth 25 % in all of them.
  std::vector<EnvironmentLaunch> launches;
  for (const int turn : {1, 2, 3}) {
    const double slower = 1000.0 * turn;
    launches.push_back(launch("unchanged", turn, {2 * slower, slower}));
    launches.push_back(launch("set", turn, {2 * slower, slower / 1.25}));
  }
  const auto comparison = compare(launches);
  ASSERT_THAT(comparison.keys, SizeIs(1));
  EXPECT_EQ(comparison.keys[0].problem, key().problem);
  ASSERT_THAT(comparison.keys[0].environments, SizeIs(2));
  const EnvironmentTime& unchanged = comparison.keys[0].environments[0];
  EXPECT_EQ(unchanged.environment, "unchanged");
  EXPECT_THAT(unchanged.speedups, ElementsAre(1, 1, 1));
  EXPECT_EQ(unchanged.finding, EnvironmentFinding::open);
  const EnvironmentTime& set = comparison.keys[0].environments[1];
  EXPECT_THAT(set.speedups,
              ElementsAre(DoubleNear(1.25, 0.01), DoubleNear(1.25, 0.01), DoubleNear(1.25, 0.01)));
  EXPECT_NEAR(set.speedup, 1.25, 0.01);
  EXPECT_NEAR(set.baseline_speedup, 1, 0.001);
  EXPECT_NEAR(static_cast<double>(set.time.count()), 1600, 40);
  EXPECT_NEAR(static_cast<double>(set.baseline.count()), 4000, 100);
  EXPECT_EQ(to_string(set.winner), "rival");
  EXPECT_EQ(set.verdict, Verdict::displaced);
  EXPECT_EQ(set.finding, EnvironmentFinding::faster);
  ASSERT_THAT(comparison.means, SizeIs(2));  // all, and all_reduce
  EXPECT_EQ(comparison.means[0].operation, "");
  EXPECT_EQ(comparison.means[1].operation, "all_reduce");
  EXPECT_EQ(comparison.means[0].faster, 1u);
  EXPECT_NEAR(comparison.means[0].speedup, 1.25, 0.01);
}

TEST(EnvironmentComparison, AWinnerIsJudgedInARoundThatDidNotChooseIt) {
  // Each turn of "set" has a lucky variant of its own, which is as slow as the baseline elsewhere.
  std::vector<EnvironmentLaunch> launches;
  for (const int turn : {1, 2, 3}) {
    launches.push_back(launch("unchanged", turn, {1000, 1000}));
    auto lucky = launch("set", turn, {1000, 500, "lucky_" + std::to_string(turn)});
    for (const int other : {1, 2, 3})
      if (other != turn) {
        TuningKey filed_under = lucky.measurements.front().key;
        lucky.measurements.push_back(trial({"lucky_" + std::to_string(other), 1000}, filed_under));
      }
    lucky.decisions = decide(lucky.measurements, {}, "sweep");
    launches.push_back(lucky);
  }
  const EnvironmentTime set = compare(launches).keys[0].environments[1];
  EXPECT_EQ(to_string(set.winner), "lucky_3");
  EXPECT_NEAR(set.speedup, 1, 0.01);
  EXPECT_EQ(set.finding, EnvironmentFinding::open);
}

TEST(EnvironmentComparison, OneRoundAgainstTheOthersLeavesItOpen) {
  std::vector<EnvironmentLaunch> launches;
  for (const int turn : {1, 2, 3, 4}) {
    launches.push_back(launch("unchanged", turn, {1000, 1000}));
    const double time = turn == 3 ? 1050 : 800;
    launches.push_back(launch("set", turn, {time, time}));
  }
  EXPECT_EQ(compare(launches).keys[0].environments[1].finding, EnvironmentFinding::open);
  for (EnvironmentLaunch& one : launches)
    if (one.environment == "set") one = launch("set", one.turn, {1100, 1100});
  EXPECT_EQ(compare(launches).keys[0].environments[1].finding, EnvironmentFinding::slower);
  launches.resize(4);  // two turns
  EXPECT_EQ(compare(launches).keys[0].environments[1].finding, EnvironmentFinding::open);
}

TEST(EnvironmentComparison, RoundsThatOnlyOneEnvironmentHasCompareNothing) {
  const auto comparison = compare(
      {launch("unchanged", 1, {1000, 900}), launch("unchanged", 2, {1000, 900}),
       launch("set", 2, {500, 450}, {1024, 4096}), launch("set", 3, {500, 450}, {1024, 4096})});
  ASSERT_THAT(comparison.keys, SizeIs(2));
  EXPECT_THAT(comparison.keys[0].environments[1].speedups, ElementsAre(DoubleNear(2, 0.01)));
  // Measured in one environment alone: listed, and no part of the means.
  ASSERT_THAT(comparison.keys[1].environments, SizeIs(1));
  EXPECT_EQ(comparison.keys[1].environments[0].environment, "set");
  EXPECT_THAT(comparison.keys[1].environments[0].speedups, IsEmpty());
  EXPECT_EQ(comparison.means[0].keys, 1u);
}

TEST(EnvironmentComparison, KeysInWhichSomethingElseRanAreLeftOut) {
  auto also_waiting = launch("set", 1, {100, 100});
  for (Measurement& one : also_waiting.measurements) one.conditions.kept_waiting = 0.06;
  auto waiting = launch("set", 2, {100, 100});
  for (Measurement& one : waiting.measurements) one.conditions.kept_waiting = 0.2;
  const auto comparison = compare({launch("unchanged", 1, {1000, 1000}), also_waiting,
                                   launch("unchanged", 2, {1000, 1000}), waiting});
  EXPECT_EQ(comparison.rounds_left_out, 2u);
  ASSERT_THAT(comparison.keys, SizeIs(1));
  EXPECT_THAT(comparison.keys[0].environments, SizeIs(1));
  EXPECT_EQ(comparison.means[0].keys, 0u);
  EXPECT_EQ(comparison.means[0].speedup, 1);
}

TEST(EnvironmentComparison, LaunchesThatDoNotFitAreRefused) {
  const auto one = launch("set", 1, {1000, 1000});
  EXPECT_THROW((void)compare({one, one}), Error);
  EXPECT_THROW((void)compare({launch("other", 1, {1000, 1000})}), Error);
}

}  // namespace
}  // namespace colltune
