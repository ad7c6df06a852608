// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/passes/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "colltune/decide/decide.h"
#include "trials.h"

namespace colltune {
namespace {

using literals::key;
using literals::trial;
using std::chrono::nanoseconds;
using ::testing::HasSubstr;

TEST(RenderResults, ShowsTheColumnsOfNcclTests) {
  auto wrong = trial({"broken", 10});
  wrong.outcome = Outcome::wrong;
  wrong.detail = "rank 1: element 3 is 4, expected 5";
  auto base = trial({"base", 2000, true}, key(4096));
  base.is_emulated = true;
  const std::vector<Measurement> trials{trial({"base", 2000, true}), trial({"fast", 1000}), wrong,
                                        base, trial({"fast", 1000}, key(4096))};
  const std::string table = render_results(trials, decide(trials, {}, "s"), true);
  EXPECT_THAT(table, HasSubstr("# all_reduce on 1x2 x86_64 (2 rank(s))"));
  for (const char* column : {"size", "count", "type", "redop", "root", "in-place", "time", "algbw",
                             "busbw", "verified", "caught", "winner", "speed-up"})
    EXPECT_THAT(table, HasSubstr(column));
  // 1024 bytes are 256 floats; about 1 us, so about 1 GB/s; two ranks: busbw equals algbw.
  EXPECT_THAT(table, testing::ContainsRegex("1024 +256 +f32 +sum +- +no +(0\\.9|1\\.0)[0-9] +1\\.0"
                                            "[0-9]? +1\\.0[0-9]? +2 +0\\.2 % +2\\.00  fast"));
  EXPECT_THAT(table, HasSubstr("2.00*  fast"));
  EXPECT_THAT(table, HasSubstr("\n* over a baseline composed of what the library has"));
  EXPECT_THAT(table, HasSubstr("wrong: broken of all_reduce f32 sum 1KiB on 1x2 x86_64: rank 1: "
                               "element 3 is 4, expected 5"));
}

TEST(RenderResults, TakesEightyColumnsWhereNothingElseIsAsked) {
  const std::string long_name = "cpu.two_shot_with_a_long_name{chunk=65536,stores=adaptive}";
  const std::vector<Measurement> trials{trial({"base", 2000, true}), trial({long_name, 1000}),
                                        trial({"base", 2000, true}, key(4096)),
                                        trial({"fast", 1000}, key(4096))};
  const std::string table = render_results(trials, decide(trials, {}, "s"));
  EXPECT_THAT(table, HasSubstr("# all_reduce f32 sum on 1x2 x86_64 (2 rank(s))\n"));
  EXPECT_THAT(table, HasSubstr("2.00\n    " + long_name + "\n"));
  EXPECT_THAT(table, HasSubstr("2.00  fast\n"));
  EXPECT_THAT(table, testing::Not(HasSubstr("* over")));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(RenderResults, ShowsHowLikelyARareFaultWouldHaveBeenCaught) {
  auto measured = trial({"base", 1000, true});
  const auto table_with = [&](std::uint64_t calls) {
    measured.verified_calls = calls;
    const std::vector<Measurement> trials{measured};
    return render_results(trials, decide(trials, {}, "s"), true);
  };
  EXPECT_THAT(table_with(693), HasSubstr(" 693   50.0 % "));
  EXPECT_THAT(table_with(5000), HasSubstr(" 5000   99.3 % "));
  EXPECT_THAT(table_with(100000), HasSubstr(" 100000  >99.9 % "));
}

TEST(RenderResults, BusBandwidthFollowsTheCollective) {
  auto gather = key(8192);
  gather.problem.collective = Collective::all_gather;
  gather.problem.reduce_op = ReduceOp::none;
  gather.topology.ranks = 4;
  auto measured = trial({"base", 1000, true}, gather);
  std::ranges::fill(measured.samples, nanoseconds(1024));
  const std::vector<Measurement> trials{measured};
  // 8192 B / 1.024 us = 8 GB/s; (4 - 1) / 4 of it on the bus.
  EXPECT_THAT(render_results(trials, decide(trials, {}, "s"), true),
              testing::ContainsRegex("8192 +512 +f32 +- +- +no +1\\.02 +8\\.00 +6\\.00"));
}

TEST(RenderShares, NamesEveryActivityAndTheRest) {
  ActivityTimes activities;
  activities[Activity::batch] = nanoseconds(600);
  activities[Activity::verification] = nanoseconds(150);
  const std::string text = render_shares(activities, nanoseconds(1000));
  EXPECT_EQ(text,
            "batch 60.0 %, warm_up 0.0 %, verification 15.0 %, preparation 0.0 %, control 0.0 %, "
            "journal 0.0 %, other 25.0 %");
}

}  // namespace
}  // namespace colltune
