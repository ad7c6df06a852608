// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "colltune/vocabulary/error.h"
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
  EXPECT_EQ(decision.verdict, Verdict::displaced);
  EXPECT_EQ(decision.status, DecisionStatus::provisional);
  EXPECT_THAT(decision.reason, HasSubstr("fast{a=1} is 2.0"));
  EXPECT_THAT(decision.reason, HasSubstr("20 common rounds"));
}

TEST(Decide, ALoadVetoesOnlyWhatItCanExplain) {
  std::vector<Measurement> trials{trial({"base", 2000, true}), trial({"fast", 1000})};
  const auto decide_with = [&](double of_base, double of_fast, const DecisionPolicy& policy = {}) {
    trials[0].conditions.kept_waiting = of_base;
    trials[1].conditions.kept_waiting = of_fast;
    return decide_any(trials, policy);
  };
  // 9 % of the time waited for a core, by both: a gain of 2 stays one.
  EXPECT_EQ(decide_with(0.09, 0.09).verdict, Verdict::displaced);
  EXPECT_EQ(decide_with(0.5, 0.5).verdict, Verdict::displaced);
  // All of it by the baseline: it would take half of its time to make it all.
  EXPECT_EQ(decide_with(0.3, 0).verdict, Verdict::displaced);
  const Decision decision = decide_with(0.5, 0);
  EXPECT_EQ(decision.verdict, Verdict::undecided);
  EXPECT_THAT(names(decision), ElementsAre("base", "fast"));
  EXPECT_THAT(decision.reason, HasSubstr("what else ran there may have helped it by 2.000x"));
  EXPECT_EQ(decide_with(0.5, 0, {.most_kept_waiting = 0.9}).verdict, Verdict::displaced);
  EXPECT_EQ(decide_with(0.5, 0, {.most_kept_waiting = std::nullopt}).verdict, Verdict::displaced);
  // Who is slower may have been held back.
  trials[1] = trial({"fast", 2000});
  EXPECT_EQ(decide_with(0, 0).verdict, Verdict::kept);
  EXPECT_EQ(decide_with(0, 0.3).verdict, Verdict::undecided);
  // One variant alone: there is nothing to be undecided about.
  trials.pop_back();
  trials[0].conditions.kept_waiting = 0.5;
  EXPECT_EQ(decide_any(trials).verdict, Verdict::kept);
}

TEST(Decide, WhatVoidRunsHoldOfALoadExplainsNothingElse) {
  std::vector<Measurement> trials{trial({"base", 1200, true}), trial({"fast", 1000})};
  // Half of the baseline's time was lost, all of it in runs that do not count.
  Measurement& base = trials[0];
  base.marks.assign(base.samples.size(), 0);
  for (std::size_t i = 0; i < base.samples.size(); i += 4) {
    base.samples[i] *= 6;
    base.marks[i] = static_cast<int>(RunMark::switched);
  }
  base.conditions.kept_waiting = 0.5;
  trials[1].conditions.kept_waiting = 0;
  EXPECT_EQ(decide_any(trials).verdict, Verdict::displaced);
  base.marks.assign(base.samples.size(), 0);
  EXPECT_NE(decide_any(trials).verdict, Verdict::displaced);
}

TEST(Decide, ALoadOnTheWholeWorldIsLookedForInEachOfItsKeys) {
  std::vector<Measurement> trials;
  for (const std::uint64_t size : {8, 16, 32})
    for (const bool is_baseline : {true, false}) {
      trials.push_back(is_baseline ? trial({"base", 2000, true}) : trial({"fast", 1900}));
      trials.back().key.problem.message_size = {size};
      trials.back().conditions.kept_waiting = is_baseline ? 0.08 : 0.0;
    }
  const auto verdicts = [&] { return count_verdicts(decide(trials, {}, "sweep")); };
  EXPECT_EQ(verdicts()[Verdict::displaced], 3u) << "4 % are no load";
  for (Measurement& one : trials) one.conditions.kept_waiting = one.is_baseline ? 0.2 : 0.0;
  EXPECT_EQ(verdicts()[Verdict::undecided], 3u);
  // One key that had no part of it decides as ever.
  for (std::size_t i = 0; i < 2; ++i) trials[i].conditions.kept_waiting = 0;
  EXPECT_EQ(verdicts()[Verdict::undecided], 2u);
  EXPECT_EQ(verdicts()[Verdict::displaced], 1u);
}

TEST(Decide, AVariantHasOneSpeedupWhateverFamilyIsAsked) {
  // Two passes whose ratios differ, so that who leads a field matters to how others are put beside
  // it.
  std::vector<Measurement> trials;
  for (int pass = 0; pass < 2; ++pass)
    for (Measurement one :
         {trial({"base", 2000, true}), trial({"ring", pass == 0 ? 900.0 : 700.0}),
          trial({"one_shot", pass == 0 ? 1000.0 : 500.0, false, "cpu", 0.01 * pass}),
          trial({"two_shot", pass == 0 ? 1100.0 : 1300.0, false, "cpu", 0.02 * pass})}) {
      one.pass = pass;
      trials.push_back(one);
    }
  std::map<std::string, std::set<double>> speedups;
  for (const Decision& decision : decide(trials, {}, "s"))
    for (const RankedVariant& ranked : decision.ranked)
      speedups[to_string(ranked.variant)].insert(ranked.speedup_over_baseline);
  ASSERT_EQ(speedups.size(), 4u);
  for (const auto& [variant, of_variant] : speedups) EXPECT_EQ(of_variant.size(), 1u) << variant;
}

TEST(Decide, TimesOfAnotherChoiceThanTheNamedOneDecideNothing) {
  Measurement other = trial({.variant = "nccl.all_reduce_forced{algorithm=ring}", .median = 500});
  const std::vector<Measurement> as_named{
      trial({.variant = "nccl.all_reduce", .is_baseline = true}), other};
  EXPECT_EQ(decide(as_named, {}, "s").front().ranked.front().variant, other.variant);
  other.conditions.executed_instead = "algorithm=tree,protocol=ll";
  const std::vector<Measurement> instead{as_named.front(), other};
  for (const Decision& decision : decide(instead, {}, "s"))
    for (const RankedVariant& ranked : decision.ranked) EXPECT_NE(ranked.variant, other.variant);
  EXPECT_FALSE(is_credited(other));
}

TEST(Decide, DriftThatHitsAllAlikeIsNoNoise) {
  // 5 % faster in every round, though the rounds drift by 40 %.
  const Decision decision = decide_any({trial({"base", 1050, true}), trial({"fast", 1000})});
  EXPECT_THAT(names(decision), ElementsAre("fast", "base"));
}

TEST(Decide, NoiseKeepsTheBaseline) {
  // Steps of the noise spread evenly: one mode.
  auto noisy = trial({"noisy", 1000});
  for (std::size_t i = 0; i < noisy.samples.size(); ++i)
    noisy.samples[i] = noisy.samples[i] * (75 + 3 * static_cast<int>((i * 7) % 20)) / 100;
  const Decision decision = decide_any({trial({"base", 1060, true}), noisy});
  EXPECT_EQ(names(decision).front(), "base");
  EXPECT_EQ(decision.verdict, Verdict::undecided);
  EXPECT_THAT(decision.reason, HasSubstr("the baseline base stays, undecided: noisy is 1.0"));
  EXPECT_THAT(decision.reason, HasSubstr("which is within the noise (at least 0."));
}

TEST(Decide, ABimodalRivalKeepsTheBaseline) {
  const Decision decision =
      decide_any({trial({"base", 1060, true}), trial({"bimodal", 1000, false, "mpi", 0.3})});
  EXPECT_EQ(names(decision).front(), "base");
  EXPECT_EQ(decision.verdict, Verdict::undecided);
  EXPECT_THAT(decision.reason, HasSubstr("bimodal: 1.514x in 45 % of 20 common rounds"));
}

TEST(Decide, ABimodalRivalKeepsTheBaselineHoweverManyRounds) {
  // Two of three rounds 1.3 times as fast, the third slower: no noise, but no winner either.
  auto bimodal = trial({.variant = "bimodal", .median = 1000, .rounds = 300});
  for (std::size_t i = 0; i < bimodal.samples.size(); ++i)
    bimodal.samples[i] = bimodal.samples[i] * (i % 3 == 0 ? 130 : 77) / 100;
  const auto base = trial({.variant = "base", .median = 1000, .is_baseline = true, .rounds = 300});
  const Decision decision = decide_any({base, bimodal});
  EXPECT_EQ(names(decision).front(), "base");
  EXPECT_THAT(decision.reason, HasSubstr("bimodal"));
}

TEST(Decide, MarginKeepsTheBaseline) {
  const std::vector<Measurement> both{trial({"base", 1010, true}), trial({"fast", 1000})};
  EXPECT_THAT(decide_any(both).reason, HasSubstr("less than the margin of 2 %"));
  EXPECT_EQ(names(decide_any(both)).front(), "base");
  EXPECT_EQ(decide_any(both).verdict, Verdict::kept);
  EXPECT_EQ(names(decide_any(both, {.minimum_margin = 0.005})).front(), "fast");
}

TEST(Decide, TooFewRoundsKeepTheBaseline) {
  const Decision decision = decide_any(
      {trial({"base", 2000, true, "mpi", 0, 3}), trial({"fast", 1000, false, "mpi", 0, 3})});
  EXPECT_EQ(names(decision).front(), "base");
  EXPECT_EQ(decision.verdict, Verdict::undecided);
  EXPECT_THAT(decision.reason, HasSubstr("3 common round(s) are too few"));
}

TEST(Decide, ManyRivalsNeedMoreEvidence) {
  // Eight rounds are enough against one rival (0.4 %), not against twenty.
  std::vector<Measurement> trials{trial({"base", 2000, true, "mpi", 0, 8}),
                                  trial({"fast", 1000, false, "mpi", 0, 8})};
  EXPECT_EQ(names(decide_any(trials)).front(), "fast");
  for (int i = 0; i < 19; ++i)
    trials.push_back(trial({"slow" + std::to_string(i), 5000, false, "mpi", 0, 8}));
  EXPECT_EQ(names(decide_any(trials)).front(), "base");
  EXPECT_EQ(names(decide_any(trials, {.confidence = 0.9})).front(), "fast");
}

TEST(Decide, ASteadySecondWinsWhereTheFirstIsNoise) {
  const Decision decision =
      decide_any({trial({"base", 1200, true}), trial({"noisy", 1000, false, "mpi", 0.3}),
                  trial({"steady", 1100})});
  EXPECT_EQ(names(decision).front(), "steady");
}

TEST(Decide, WhatIsProvenStandsBeforeTheBaselineAndNothingElse) {
  const Decision decision =
      decide_any({trial({"base", 1200, true}), trial({"noisy", 900, false, "mpi", 0.4}),
                  trial({"second", 1100}), trial({"first", 1000}), trial({"slow", 1300}),
                  trial({"level", 1195})});
  EXPECT_THAT(names(decision), ElementsAre("first", "second", "base", "noisy", "level", "slow"));
}

Measurement twin_of(const std::string& variant, double median) {
  auto measurement = trial({variant, median, true});
  measurement.is_twin = true;
  return measurement;
}

TEST(Decide, TheTwinNeverRanksAndBoundsWhatCounts) {
  const std::vector<Measurement> steady{trial({"base", 1100, true}), trial({"fast", 1000}),
                                        twin_of("base", 1100)};
  EXPECT_THAT(names(decide_any(steady)), ElementsAre("fast", "base"));
  for (const double of_twin : {950, 1250}) {
    const Decision decision =
        decide_any({trial({"base", 1100, true}), trial({"fast", 1000}), twin_of("base", of_twin)});
    EXPECT_THAT(names(decision), ElementsAre("base", "fast"));
    EXPECT_EQ(decision.verdict, Verdict::undecided);
    EXPECT_THAT(decision.reason, HasSubstr("the baseline differs from its own twin by 1.1"));
  }
}

TEST(Decide, HeldOutSizesAreNotDecided) {
  auto held_out = trial({"base", 1000, true}, key(4096));
  held_out.is_holdout = true;
  const auto decisions =
      decide(std::vector<Measurement>{held_out, trial({"base", 1000, true})}, {}, "s");
  ASSERT_EQ(decisions.size(), 2u);  // any and mpi
  EXPECT_EQ(decisions[0].key, key());
  EXPECT_EQ(decisions[1].key, key());
}

TEST(Decide, MarkedSamplesDoNotCount) {
  // Fast only where the machine was disturbed.
  auto lucky = trial({"lucky", 1000});
  lucky.marks.assign(lucky.samples.size(), 0);
  for (std::size_t i = 0; i < lucky.samples.size(); ++i)
    if (i % 10 == 0)
      lucky.samples[i] *= 2;
    else
      lucky.marks[i] = static_cast<int>(RunMark::gap);
  const Decision decision = decide_any({trial({"base", 1500, true}), lucky});
  EXPECT_THAT(names(decision), ElementsAre("base", "lucky"));
  EXPECT_EQ(decision.ranked[1].samples, 2u);
  EXPECT_GE(decision.ranked[1].low.count(), 1500);
  EXPECT_NEAR(decision.ranked[1].speedup_over_baseline, 0.75, 0.01);
}

TEST(Decide, WhereNothingCountsTheBaselineStays) {
  auto base = trial({"base", 2000, true});
  base.marks.assign(base.samples.size(), static_cast<int>(RunMark::switched));
  const Decision decision = decide_any({base, trial({"fast", 1000})});
  EXPECT_EQ(names(decision).front(), "base");
  EXPECT_EQ(decision.verdict, Verdict::undecided);
  EXPECT_EQ(decision.ranked[0].samples, 0u);
  EXPECT_NEAR(double(decision.ranked[0].median.count()), 2000, 100);
  EXPECT_THAT(decision.reason, HasSubstr("no round in common"));
}

TEST(Decide, TiesAreDecidedByNameAndForTheBaseline) {
  const Decision decision =
      decide_any({trial({"b", 1000}), trial({"a", 1000}), trial({"z", 1000, true})});
  EXPECT_THAT(names(decision), ElementsAre("z", "a", "b"));
  EXPECT_EQ(decision.verdict, Verdict::kept);
  EXPECT_THAT(decision.reason, HasSubstr("the baseline z is the fastest"));
}

TEST(Decide, AmongEqualsTheSimplerWins) {
  const auto base = trial({"base", 2000, true});
  // Faster by 1 %, but with a parameter more.
  EXPECT_THAT(names(decide_any({base, trial({"a{chunk=1}", 990}), trial({"b", 1000})})),
              ElementsAre("b", "a{chunk=1}", "base"));
  EXPECT_THAT(decide_any({base, trial({"a{chunk=1}", 990}), trial({"b", 1000})}).reason,
              HasSubstr("the fastest, a{chunk=1}, is not clearly faster and less simple"));
  // Faster by 3 %, which is certain.
  EXPECT_THAT(names(decide_any({base, trial({"a{chunk=1}", 970}), trial({"b", 1000})})),
              ElementsAre("a{chunk=1}", "b", "base"));
  // Faster by 3 %, which may be noise: still the best that is known.
  EXPECT_THAT(
      names(decide_any({base, trial({"a{chunk=1}", 970, false, "mpi", 0.04}), trial({"b", 1000})})),
      ElementsAre("a{chunk=1}", "b", "base"));
  // The same bits in every run are worth more than fewer parameters.
  auto ordered = trial({"a{chunk=1}", 1000});
  ordered.numeric_class = NumericClass::rank_order;
  EXPECT_THAT(names(decide_any({base, ordered, trial({"b", 1000})})),
              ElementsAre("a{chunk=1}", "b", "base"));
  auto rounded = trial({"a", 1000});
  rounded.rounding = Rounding::each_step;
  EXPECT_THAT(names(decide_any({base, rounded, trial({"b", 1000})})),
              ElementsAre("b", "a", "base"));
  auto emulated = trial({"a", 1000});
  emulated.is_emulated = true;
  EXPECT_THAT(names(decide_any({base, emulated, trial({"b", 1000})})),
              ElementsAre("b", "a", "base"));
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
  EXPECT_EQ(decision.verdict, Verdict::no_baseline);
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
  EXPECT_EQ(decisions[1].verdict, Verdict::no_baseline);
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
  EXPECT_THROW((void)decide(std::vector<Measurement>{twin_of("a", 1), twin_of("a", 2)}, {}, "s"),
               Error);
}

TEST(Decide, VerdictsAreCountedOverAllFamilies) {
  const auto decisions =
      decide(std::vector<Measurement>{trial({"base", 2000, true}), trial({"fast", 1000}),
                                      trial({"base", 1000, true}, key(4096))},
             {}, "s");
  const auto counts = count_verdicts(decisions);
  EXPECT_EQ(counts.at(Verdict::displaced), 1u);
  EXPECT_EQ(counts.at(Verdict::kept), 1u);
  EXPECT_EQ(counts.at(Verdict::undecided), 0u);
  EXPECT_EQ(counts.at(Verdict::no_baseline), 0u);
}

}  // namespace
}  // namespace colltune
