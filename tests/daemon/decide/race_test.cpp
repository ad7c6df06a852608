// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace colltune {
namespace {

using ::testing::ElementsAre;

/// A trial of `rounds` rounds around `time`, with a ripple of its own.
struct Literal {
  std::string family = "mpi";
  double time = 1000;
  int rounds = 1;
  bool is_baseline = false;
  bool is_twin = false;
  double ripple = 0.001;
};

RaceState judge(const std::vector<Literal>& literals, const DecisionPolicy& policy = {}) {
  std::vector<std::vector<double>> times;
  for (std::size_t i = 0; i < literals.size(); ++i) {
    times.emplace_back();
    for (int round = 0; round < literals[i].rounds; ++round)
      times.back().push_back(
          literals[i].time *
          (1 + literals[i].ripple * std::sin(double(round) * (1 + double(i)) + double(i))));
  }
  std::vector<RacedTrial> raced;
  for (std::size_t i = 0; i < literals.size(); ++i)
    raced.push_back({.family = literals[i].family,
                     .is_baseline = literals[i].is_baseline,
                     .is_twin = literals[i].is_twin,
                     .round_medians = times[i]});
  return judge_race(raced, policy);
}

Literal baseline(int rounds, double time = 1000) {
  return {.time = time, .rounds = rounds, .is_baseline = true};
}
Literal twin(int rounds, double time = 1000) {
  return {.time = time, .rounds = rounds, .is_twin = true};
}

TEST(Race, NothingIsKnownBeforeTheFirstRound) {
  EXPECT_EQ(judge({baseline(0), {.rounds = 0}}), (RaceState{{false, false}, false}));
  EXPECT_EQ(judge({}), (RaceState{{}, false}));
}

TEST(Race, WhoeverIsSlowerByALargeFactorLeavesAtOnce) {
  EXPECT_THAT(judge({baseline(1), {.time = 2900}, {.time = 3100}}).may_leave,
              ElementsAre(false, false, true));
  EXPECT_THAT(
      judge({baseline(2), {.time = 1450, .rounds = 2}, {.time = 1550, .rounds = 2}}).may_leave,
      ElementsAre(false, false, true));
  EXPECT_THAT(
      judge({baseline(3), {.time = 1240, .rounds = 3}, {.time = 1260, .rounds = 3}}).may_leave,
      ElementsAre(false, false, true));
}

TEST(Race, OneGoodRoundIsEnoughToStay) {
  const std::vector<double> base{1000, 1000, 1000};
  const std::vector<double> once_good{5000, 5000, 1100};
  const std::vector<RacedTrial> raced{{"mpi", true, false, base}, {"mpi", false, false, once_good}};
  EXPECT_THAT(judge_race(raced, {}).may_leave, ElementsAre(false, false));
}

TEST(Race, TheBaselineAndItsTwinNeverLeave) {
  EXPECT_THAT(judge({baseline(3, 9000), twin(3, 9000), {.time = 1000, .rounds = 3}}).may_leave,
              ElementsAre(false, false, false));
}

TEST(Race, TheLeaderOfAFamilyStaysHoweverSlow) {
  EXPECT_THAT(
      judge({baseline(3), {"ours", 9000, 3}, {"ours", 10000, 3}, {"ours", 12000, 3}}).may_leave,
      ElementsAre(false, false, false, true));
}

TEST(Race, WhoeverIsSlowerByMoreThanTheMarginLeavesOnceThatIsCertain) {
  const auto after = [](int rounds) {
    return judge({baseline(rounds, 1200), {"mpi", 1000, rounds}, {"mpi", 1050, rounds}});
  };
  EXPECT_THAT(after(10).may_leave, ElementsAre(false, false, false));
  EXPECT_THAT(after(16).may_leave, ElementsAre(false, false, true));
}

TEST(Race, EqualsOfTheLeaderStay) {
  EXPECT_THAT(judge({baseline(64, 1200), {"mpi", 1000, 64}, {"mpi", 1005, 64}}).may_leave,
              ElementsAre(false, false, false));
}

TEST(Race, WhoeverCannotBeatTheBaselineLeaves) {
  EXPECT_THAT(judge({baseline(32), {"mpi", 999, 32}, {"mpi", 1001, 32}}).may_leave,
              ElementsAre(false, false, true));
}

TEST(Race, WhoHasLeftStaysOutAndDoesNotLead) {
  const auto state = judge({baseline(8), {"mpi", 100, 2}, {"mpi", 900, 8}});
  EXPECT_THAT(state.may_leave, ElementsAre(false, true, false));
}

TEST(Race, DecidedOnceTheLeaderIsProven) {
  EXPECT_FALSE(judge({baseline(8), {"mpi", 900, 8}}).is_decided);
  EXPECT_TRUE(judge({baseline(16), {"mpi", 900, 16}}).is_decided);
}

TEST(Race, DecidedOnceNobodyCanBeatTheBaseline) {
  EXPECT_FALSE(judge({baseline(8), {"mpi", 1000, 8}}).is_decided);
  EXPECT_TRUE(judge({baseline(16), {"mpi", 1000, 16}}).is_decided);
  EXPECT_TRUE(judge({baseline(1), {"mpi", 9000, 1}}).is_decided);
}

TEST(Race, NotDecidedWhileNoiseHidesTheAnswer) {
  EXPECT_FALSE(judge({baseline(64), {.time = 1000, .rounds = 64, .ripple = 0.2}}).is_decided);
}

TEST(Race, NotDecidedWhileSomebodyMayBeatTheLeader) {
  EXPECT_FALSE(judge({baseline(64, 2000),
                      {.time = 1000, .rounds = 64},
                      {.time = 1001, .rounds = 64, .ripple = 0.2}})
                   .is_decided);
}

TEST(Race, EachFamilyMustBeDecided) {
  const Literal ours{"ours", 500, 32};
  EXPECT_TRUE(judge({baseline(32), ours, {"mpi", 1100, 32}}).is_decided);
  EXPECT_FALSE(judge({baseline(32), ours, {.time = 1000, .rounds = 32, .ripple = 0.2}}).is_decided);
}

TEST(Race, ATwinThatDiffersAsMuchAsTheRivalLeavesItOpen) {
  EXPECT_TRUE(judge({baseline(32), twin(32), {"mpi", 950, 32}}).is_decided);
  EXPECT_FALSE(judge({baseline(32), twin(32, 940), {"mpi", 950, 32}}).is_decided);
}

TEST(Race, WithoutRivalsTheTwinIsJudged) {
  EXPECT_FALSE(judge({baseline(8), twin(8)}).is_decided);
  EXPECT_TRUE(judge({baseline(16), twin(16)}).is_decided);
  EXPECT_TRUE(judge({baseline(16), twin(16, 900)}).is_decided);
  EXPECT_TRUE(judge({baseline(1)}).is_decided);
}

TEST(Race, IsJudgedAfterTheFirstRoundsAndWhereBoundsAreAskedFor) {
  std::vector<std::size_t> looks;
  for (std::size_t rounds = 1; rounds <= 1000; ++rounds)
    if (is_look(rounds)) looks.push_back(rounds);
  EXPECT_EQ(looks, (std::vector<std::size_t>{1,  2,  3,  4,  5,  6,   7,   8,   11,  16,
                                             23, 32, 45, 64, 91, 128, 181, 256, 362, 512}));
}

TEST(Race, RoundsThatDoNotCountAreNoRounds) {
  const double void_round = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> base{1000, void_round, 1000};
  const std::vector<double> rival{void_round, 900, void_round};
  const std::vector<RacedTrial> raced{{"mpi", true, false, base}, {"mpi", false, false, rival}};
  EXPECT_EQ(judge_race(raced, {}), (RaceState{{false, false}, false}));
}

}  // namespace
}  // namespace colltune
