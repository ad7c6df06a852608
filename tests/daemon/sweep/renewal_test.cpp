// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// A variant that hangs takes with it what others run on: they are prepared anew, so often and no
// more.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "one_cell.h"

namespace colltune {
namespace {

using fakes::Behaviour;
using fakes::Ground;
using fakes::impatient_policy;
using fakes::measure;
using testing::HasSubstr;

constexpr int ranks = 2;

/// On rank 1 alone its call `in_call` ends the ground; the other rank waits for it in vain.
Behaviour breaker(const std::shared_ptr<Ground>& ground, const std::string& name, int in_call) {
  return {.name = name, .ground = ground, .at_wait = [=](int rank, int call) {
            if (rank != 1 || call != in_call) return;
            ++ground->ended[1];
            throw Error(StatusCode::deadline_exceeded, "hung");
          }};
}

/// The same where both ranks find out at once, so that none waits in vain: where how long that
/// takes is not asked.
Behaviour breaker_of_all(const std::shared_ptr<Ground>& ground, const std::string& name) {
  return {.name = name, .ground = ground, .at_wait = [=](int rank, int) {
            ++ground->ended[static_cast<std::size_t>(rank)];
            throw Error(StatusCode::deadline_exceeded, "hung");
          }};
}

/// The call in which it happens: 0 is verified, 1 and 2 warm up, the later ones are timed.
class Renewal : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Steps, Renewal, testing::Values(0, 1, 2, 4, 7));

TEST_P(Renewal, WhatOthersRanOnIsMadeAnewAndTheyAreMeasured) {
  const auto ground = std::make_shared<Ground>();
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true, .ground = ground},
                                            breaker(ground, "hangs", GetParam()),
                                            {.name = "later", .ground = ground},
                                            {.name = "apart"}});
  const auto found = measure(implementations, ranks, impatient_policy()).measurements;
  for (const std::size_t i : {0U, 2U, 3U}) {
    EXPECT_EQ(found.at(i).outcome, Outcome::ok) << found[i].detail;
    // Whole rounds alone: one in which something was lost counts for nobody.
    ASSERT_GT(found[i].samples_per_round, 0) << i;
    EXPECT_EQ(std::ssize(found[i].samples) % found[i].samples_per_round, 0) << i;
    const auto rounds = std::ssize(found[i].samples) / found[i].samples_per_round;
    // A rival that looks slower may leave; the baseline stays.
    const int most = GetParam() > 2 ? 5 : 6;
    EXPECT_GE(rounds, i == 0 ? most : 1) << i;
    EXPECT_LE(rounds, most) << i;
    EXPECT_GE(found[i].verified_calls, 2U);
    EXPECT_EQ(found[i].ranks_failed, 0);
  }
  EXPECT_EQ(found[0].conditions.renewals, 1U);
  EXPECT_EQ(found[2].conditions.renewals, 1U);
  EXPECT_FALSE(found[3].conditions.renewals) << "it ran on something else";
  EXPECT_EQ(found[1].outcome, Outcome::timed_out);
  EXPECT_EQ(found[1].ranks_failed, ranks);
  EXPECT_TRUE(found[1].samples.empty());
}

TEST(Renewals, AWinnerThatIsSoakedIsMadeAnew) {
  const auto ground = std::make_shared<Ground>();
  // Rank 1 finds it gone before its call, without anybody's fault: as after an abort that another
  // rank made late.
  std::atomic<bool> has_ended = false;
  const auto implementations = fakes::make(
      {{.name = "base", .is_baseline = true, .ground = ground, .at_wait = [&](int rank, int call) {
          if (rank == 1 && call == 100 && !has_ended.exchange(true)) {
            ++ground->ended[1];
            throw OperationLost("the ground is gone");
          }
        }}});
  const auto plan = fakes::soaked_plan(implementations, ranks, 200);
  const auto found = measure(implementations, plan, ranks, impatient_policy()).measurements;
  ASSERT_TRUE(has_ended);
  EXPECT_EQ(found.at(0).outcome, Outcome::ok) << found[0].detail;
  EXPECT_EQ(found[0].conditions.renewals, 1U);
  EXPECT_GE(found[0].verified_calls, 200U) << "those that were lost are made up for";
}

TEST(Renewals, ThatFailEndEachAndThenTheRest) {
  const auto ground = std::make_shared<Ground>();
  std::array<std::atomic<int>, ranks> prepared{};
  const auto once = [&](int rank, int) {
    if (ground->ended[1] > 0) {
      ++prepared[static_cast<std::size_t>(rank)];
      throw Error(StatusCode::internal, "no second one");
    }
  };
  std::vector<Behaviour> behaviours{{.name = "base", .is_baseline = true, .ground = ground}};
  behaviours.push_back(breaker(ground, "hangs", 0));
  for (const char* name : {"c", "d", "e"}) behaviours.push_back({.name = name, .ground = ground});
  behaviours.push_back({.name = "apart"});
  for (Behaviour& one : behaviours)
    if (one.ground != nullptr) one.at_prepare = once;
  const auto implementations = fakes::make(behaviours);
  const auto found = measure(implementations, ranks, impatient_policy()).measurements;
  EXPECT_EQ(found.at(1).outcome, Outcome::timed_out);
  for (const std::size_t i : {0U, 2U}) {
    EXPECT_EQ(found.at(i).outcome, Outcome::failed);
    EXPECT_EQ(found[i].detail, "when it was prepared anew: rank 0: no second one");
    EXPECT_EQ(found[i].conditions.renewals, 1U);
  }
  for (const std::size_t i : {3U, 4U}) {
    EXPECT_EQ(found.at(i).outcome, Outcome::failed);
    EXPECT_EQ(found[i].detail,
              "what it ran on was ended with another variant, and not made anew: 2 others before "
              "it failed");
    EXPECT_FALSE(found[i].conditions.renewals);
  }
  EXPECT_EQ(found.at(5).outcome, Outcome::ok) << found[5].detail;
  EXPECT_EQ(prepared[0], 2);
  EXPECT_EQ(prepared[1], 2);
}

TEST(Renewals, AreNotRepeatedForEver) {
  constexpr int most = 8;
  const auto ground = std::make_shared<Ground>();
  std::vector<Behaviour> behaviours{{.name = "base", .is_baseline = true, .ground = ground}};
  // One after the other: those behind the first one find the ground gone, and hang when they are
  // called again.
  for (int i = 0; i <= most; ++i)
    behaviours.push_back(breaker_of_all(ground, "hangs" + std::to_string(i)));
  behaviours.push_back({.name = "apart"});
  const auto implementations = fakes::make(behaviours);
  const auto found = measure(implementations, ranks, impatient_policy()).measurements;
  EXPECT_EQ(found.front().outcome, Outcome::failed);
  EXPECT_EQ(found.front().conditions.renewals, most);
  EXPECT_EQ(found.front().detail,
            "what it ran on was ended with another variant, and not made anew: it was so 8 times "
            "in this visit already");
  for (int i = 0; i <= most; ++i)
    EXPECT_EQ(found[static_cast<std::size_t>(i) + 1].outcome, Outcome::timed_out) << i;
  EXPECT_EQ(found.back().outcome, Outcome::ok) << found.back().detail;
}

}  // namespace
}  // namespace colltune
