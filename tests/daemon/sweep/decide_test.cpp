// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "colltune/sweep/report.h"
#include "colltune/sweep/statistics.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(median_of(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median_of(std::vector<double>{4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median_of(std::vector<double>{7}), 7);
}

TEST(Statistics, IntervalOfTheMedianIsTheBinomialOne) {
  // Tables of the sign test: at 95 % two-sided, 10 samples leave out 1 on each side, 20 leave out
  // 5, 6 none, and 5 are too few.
  EXPECT_EQ(samples_outside_interval(10, 0.95), 1u);
  EXPECT_EQ(samples_outside_interval(20, 0.95), 5u);
  EXPECT_EQ(samples_outside_interval(6, 0.95), 0u);
  EXPECT_EQ(samples_outside_interval(5, 0.95), std::nullopt);
  EXPECT_EQ(samples_outside_interval(0, 0.95), std::nullopt);
  // The normal approximation takes over without a jump.
  EXPECT_NEAR(double(*samples_outside_interval(500, 0.95)),
              double(*samples_outside_interval(501, 0.95)), 1.5);
  EXPECT_NEAR(double(*samples_outside_interval(100000, 0.95)), 49690, 2);
}

TEST(Statistics, IntervalEndsAreSamples) {
  std::vector<double> values;
  for (int i = 20; i > 0; --i) values.push_back(i);
  EXPECT_EQ(median_interval(values, 0.95), (MedianInterval{.median = 10.5, .low = 6, .high = 15}));
  EXPECT_EQ(median_interval(std::vector<double>{5, 9}, 0.95),
            (MedianInterval{.median = 7, .low = 5, .high = 9}));
}

TEST(Statistics, LowerBoundNeedsEnoughSamples) {
  // One-sided: 0.5^5 = 3.1 % is the chance that five samples all exceed the median.
  EXPECT_EQ(median_lower_bound(std::vector<double>{5, 4, 3, 2, 1}, 0.95), 1);
  EXPECT_EQ(median_lower_bound(std::vector<double>{4, 3, 2, 1}, 0.95), std::nullopt);
  EXPECT_EQ(median_lower_bound({}, 0.95), std::nullopt);
}

/// A trial of 20 rounds of one sample around `median`, with noise that is the same for all variants
/// of a round (drift) and `own_noise` of its own.
struct Literal {
  std::string variant;
  double median = 1000;
  bool is_baseline = false;
  std::string family = "mpi";
  double own_noise = 0;
  int rounds = 20;
};

TuningKey key(std::uint64_t bytes = 1024) {
  return {.problem = {.message_size = {bytes}},
          .topology = {.ranks_per_node = 2,
                       .ranks = 2,
                       .architectures = {{"x86_64", 2}},
                       .layout_digest = "uniform",
                       .interconnect = "shared-memory"},
          .environment_digest = "env"};
}

Measurement trial(const Literal& literal, const TuningKey& filed_under = key()) {
  Measurement measurement{.key = filed_under,
                          .variant = parse_variant(literal.variant),
                          .family = literal.family,
                          .protocol = "p",
                          .is_baseline = literal.is_baseline,
                          .verified_calls = 2,
                          .rounding = Rounding::once,
                          .numeric_class = NumericClass::same_bits,
                          .limits = {.min_ranks = 2}};
  for (int round = 0; round < literal.rounds; ++round) {
    const double drift = 1 + 0.2 * std::sin(round);
    const double own = 1 + literal.own_noise * (round % 2 == 0 ? 1 : -1);
    measurement.samples.emplace_back(std::llround(literal.median * drift * own));
    measurement.slowest_ranks.push_back(0);
  }
  return measurement;
}

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

TEST(RenderResults, ShowsTheColumnsOfNcclTests) {
  auto wrong = trial({"broken", 10});
  wrong.outcome = Outcome::wrong;
  wrong.detail = "rank 1: element 3 is 4, expected 5";
  auto base = trial({"base", 2000, true}, key(4096));
  base.is_emulated = true;
  const std::vector<Measurement> trials{trial({"base", 2000, true}), trial({"fast", 1000}), wrong,
                                        base, trial({"fast", 1000}, key(4096))};
  const std::string table = render_results(trials, decide(trials, {}, "s"));
  EXPECT_THAT(table, HasSubstr("# all_reduce on 1x2 x86_64 (2 rank(s))"));
  for (const char* column : {"size", "count", "type", "redop", "root", "in-place", "time", "algbw",
                             "busbw", "verified", "caught", "winner", "speed-up"})
    EXPECT_THAT(table, HasSubstr(column));
  // 1024 bytes are 256 floats; about 1 us, so about 1 GB/s; two ranks: busbw equals algbw.
  EXPECT_THAT(table, testing::ContainsRegex("1024 +256 +f32 +sum +- +no +(0\\.9|1\\.0)[0-9] +1\\.0"
                                            "[0-9]? +1\\.0[0-9]? +2 +0\\.2 % +2\\.00  fast"));
  EXPECT_THAT(table, HasSubstr("2.00*  fast"));
  EXPECT_THAT(table, HasSubstr("wrong: broken of all_reduce f32 sum 1KiB on 1x2 x86_64: rank 1: "
                               "element 3 is 4, expected 5"));
}

TEST(RenderResults, ShowsHowLikelyARareFaultWouldHaveBeenCaught) {
  auto measured = trial({"base", 1000, true});
  const auto table_with = [&](std::uint64_t calls) {
    measured.verified_calls = calls;
    const std::vector<Measurement> trials{measured};
    return render_results(trials, decide(trials, {}, "s"));
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
  EXPECT_THAT(render_results(trials, decide(trials, {}, "s")),
              testing::ContainsRegex("8192 +512 +f32 +- +- +no +1\\.02 +8\\.00 +6\\.00"));
}

TEST(RenderShares, NamesEveryPhaseAndTheRest) {
  PhaseTimes phases;
  phases[Phase::batch] = nanoseconds(600);
  phases[Phase::verification] = nanoseconds(150);
  const std::string text = render_shares(phases, nanoseconds(1000));
  EXPECT_EQ(text,
            "batch 60.0 %, warm_up 0.0 %, verification 15.0 %, preparation 0.0 %, control 0.0 %, "
            "journal 0.0 %, other 25.0 %");
}

}  // namespace
}  // namespace colltune
