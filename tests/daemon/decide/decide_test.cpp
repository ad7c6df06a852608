// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "trials.h"

namespace colltune {
namespace {

using literals::key;
using literals::trial;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names(const Decision& decision) {
  std::vector<std::string> all;
  for (const auto& ranked : decision.ranked) all.push_back(to_string(ranked.variant));
  return all;
}

/// The decision over all families.
Decision decide_any(const std::vector<Measurement>& measurements,
                    const DecisionPolicy& policy = {}) {
  const auto decisions = decide(measurements, policy, "sweep");
  EXPECT_FALSE(decisions.empty());
  EXPECT_EQ(decisions.at(0).family, any_family);
  return decisions.at(0);
}

TEST(Decide, FasterRivalWinsWithItsEvidence) {
  const Decision decision =
      decide_any({trial({"base", 2000, true}), trial({"fast{a=1}", 1000}), trial({"slow", 4000})});
  EXPECT_THAT(names(decision), ElementsAre("fast{a=1}", "base", "slow"));
  const RankedVariant& winner = decision.ranked[0];
  EXPECT_NEAR(winner.speedup_over_baseline, 2, 0.01);
  EXPECT_NEAR(decision.ranked[1].speedup_over_baseline, 1, 1e-12);
  EXPECT_NEAR(decision.ranked[2].speedup_over_baseline, 0.5, 0.01);
  EXPECT_LE(winner.low, winner.median);
  EXPECT_LE(winner.median, winner.high);
  EXPECT_EQ(winner.samples, 20u);
  EXPECT_EQ(winner.verified_calls, 2u);
  EXPECT_EQ(winner.rounding, Rounding::once);
  EXPECT_EQ(winner.numeric_class, NumericClass::same_bits);
  EXPECT_EQ(winner.limits.min_ranks, 2);
  EXPECT_EQ(winner.protocol, "p");
  EXPECT_EQ(decision.sweep_uuid, "sweep");
  EXPECT_EQ(decision.key, key());
  EXPECT_THAT(decision.reason, HasSubstr("fast{a=1} is 2.0"));
  EXPECT_THAT(decision.reason, HasSubstr("20 common rounds"));
}

TEST(Decide, DriftThatHitsAllAlikeIsNoNoise) {
  // 5 % faster in every round, though the rounds drift by 40 %.
  const Decision decision = decide_any({trial({"base", 1050, true}), trial({"fast", 1000})});
  EXPECT_THAT(names(decision), ElementsAre("fast", "base"));
}

TEST(Decide, NoiseKeepsTheBaseline) {
  const Decision decision =
      decide_any({trial({"base", 1060, true}), trial({"noisy", 1000, false, "mpi", 0.3})});
  EXPECT_EQ(names(decision).front(), "base");
  EXPECT_THAT(decision.reason, HasSubstr("the baseline base stays: noisy is"));
}

TEST(Decide, MarginKeepsTheBaseline) {
  const std::vector<Measurement> both{trial({"base", 1010, true}), trial({"fast", 1000})};
  EXPECT_THAT(decide_any(both).reason, HasSubstr("less than the margin of 2 %"));
  EXPECT_EQ(names(decide_any(both)).front(), "base");
  EXPECT_EQ(names(decide_any(both, {.minimum_margin = 0.005})).front(), "fast");
}

TEST(Decide, TooFewRoundsKeepTheBaseline) {
  const Decision decision = decide_any(
      {trial({"base", 2000, true, "mpi", 0, 3}), trial({"fast", 1000, false, "mpi", 0, 3})});
  EXPECT_EQ(names(decision).front(), "base");
  EXPECT_THAT(decision.reason, HasSubstr("3 common round(s) are too few"));
}

TEST(Decide, ManyRivalsNeedMoreEvidence) {
  // Six rounds are enough against one rival (1.6 %), not against twenty.
  std::vector<Measurement> trials{trial({"base", 2000, true, "mpi", 0, 6}),
                                  trial({"fast", 1000, false, "mpi", 0, 6})};
  EXPECT_EQ(names(decide_any(trials)).front(), "fast");
  for (int i = 0; i < 19; ++i)
    trials.push_back(trial({"slow" + std::to_string(i), 5000, false, "mpi", 0, 6}));
  EXPECT_EQ(names(decide_any(trials)).front(), "base");
}

TEST(Decide, ASteadySecondWinsWhereTheFirstIsNoise) {
  const Decision decision =
      decide_any({trial({"base", 1200, true}), trial({"noisy", 1000, false, "mpi", 0.3}),
                  trial({"steady", 1100})});
  EXPECT_EQ(names(decision).front(), "steady");
}

TEST(Decide, TiesAreDecidedByNameAndForTheBaseline) {
  const Decision decision =
      decide_any({trial({"b", 1000}), trial({"a", 1000}), trial({"z", 1000, true})});
  EXPECT_THAT(names(decision), ElementsAre("z", "a", "b"));
  EXPECT_THAT(decision.reason, HasSubstr("the baseline z is the fastest"));
}

TEST(Decide, OrderOfMeasurementsDoesNotMatter) {
  std::vector<Measurement> trials{trial({"base", 2000, true}), trial({"b", 1000, false, "ours"}),
                                  trial({"a", 1000, false, "ours"}),
                                  trial({"base", 300, true}, key(64))};
  const auto first = decide(trials, {}, "s");
  std::ranges::reverse(trials);
  EXPECT_EQ(decide(trials, {}, "s"), first);
  std::swap(trials[0], trials[2]);
  EXPECT_EQ(decide(trials, {}, "s"), first);
}

TEST(Decide, OnlyVerifiedTrialsThatAreOkRank) {
  auto wrong = trial({"wrong", 10});
  wrong.outcome = Outcome::wrong;
  auto failed = trial({"failed", 10});
  failed.outcome = Outcome::failed;
  auto late = trial({"late", 10});
  late.outcome = Outcome::timed_out;
  auto unverified = trial({"unverified", 10});
  unverified.verified_calls = 0;
  auto untimed = trial({"untimed", 10});
  untimed.samples.clear();
  auto unordered = trial({"unordered", 10});
  unordered.numeric_class = NumericClass::any;
  std::vector<Measurement> trials{wrong,      failed,  late,
                                  unverified, untimed, trial({"base", 1000, true})};
  EXPECT_THAT(names(decide_any(trials)), ElementsAre("base"));
  EXPECT_THAT(decide_any(trials).reason, HasSubstr("the only variant"));
  trials.pop_back();
  EXPECT_TRUE(decide(trials, {}, "s").empty());
  // A key that demands same bits does not get less.
  auto demanding = trial({"base", 1000, true});
  demanding.key.problem.numeric_class = unordered.key.problem.numeric_class =
      NumericClass::same_bits;
  EXPECT_THAT(names(decide_any({demanding, unordered})), ElementsAre("base"));
}

TEST(Decide, WithoutABaselineTheFastestWins) {
  auto base = trial({"base", 500, true});
  base.outcome = Outcome::failed;
  const Decision decision = decide_any({base, trial({"a", 2000}), trial({"b", 1000})});
  EXPECT_THAT(names(decision), ElementsAre("b", "a"));
  EXPECT_EQ(decision.ranked[0].speedup_over_baseline, 0);
  EXPECT_THAT(decision.reason, HasSubstr("no baseline was measured"));
}

TEST(Decide, FamiliesAreRankedApart) {
  const auto decisions =
      decide(std::vector<Measurement>{trial({"base", 2000, true}), trial({"ring", 1500}),
                                      trial({"shot", 1000, false, "colltune"})},
             {}, "s");
  ASSERT_EQ(decisions.size(), 3u);
  EXPECT_EQ(decisions[0].family, "any");
  EXPECT_THAT(names(decisions[0]), ElementsAre("shot", "ring", "base"));
  EXPECT_EQ(decisions[1].family, "colltune");
  EXPECT_THAT(names(decisions[1]), ElementsAre("shot"));
  // Without a baseline of its own, the family's speed-ups refer to the key's.
  EXPECT_NEAR(decisions[1].ranked[0].speedup_over_baseline, 2, 0.01);
  EXPECT_THAT(decisions[1].reason, HasSubstr("no baseline of its own"));
  EXPECT_EQ(decisions[2].family, "mpi");
  EXPECT_THAT(names(decisions[2]), ElementsAre("ring", "base"));
}

TEST(Decide, AFamilyWithABaselineOfItsOwnRefersToIt) {
  const auto decisions = decide(std::vector<Measurement>{trial({"mpi-base", 1000, true}),
                                                         trial({"nccl-base", 4000, true, "nccl"}),
                                                         trial({"nccl-ring", 2000, false, "nccl"})},
                                {}, "s");
  ASSERT_EQ(decisions.size(), 3u);
  EXPECT_EQ(decisions[2].family, "nccl");
  EXPECT_NEAR(decisions[2].ranked[0].speedup_over_baseline, 2, 0.01);
  // Over all families the fastest baseline is the reference.
  EXPECT_EQ(names(decisions[0]).front(), "mpi-base");
  EXPECT_NEAR(decisions[0].ranked[1].speedup_over_baseline, 0.5, 0.01);
}

TEST(Decide, TimesArePerCall) {
  auto base = trial({"base", 1000, true});
  base.calls_per_sample = 10;
  const Decision decision = decide_any({base});
  EXPECT_NEAR(double(decision.ranked[0].median.count()), 100, 5);
}

TEST(Decide, ATrialThatOccursTwiceIsRefused) {
  EXPECT_THROW((void)decide(std::vector<Measurement>{trial({"a", 1}), trial({"a", 2})}, {}, "s"),
               Error);
}

}  // namespace
}  // namespace colltune
