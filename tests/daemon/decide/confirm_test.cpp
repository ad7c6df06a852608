// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/confirm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../trials.h"

namespace colltune {
namespace {

using literals::key;
using literals::trial;
using testing::ElementsAre;
using testing::HasSubstr;

/// A provisional decision that ranks these, the baseline among them as "base".
Decision ranking(const std::vector<std::string>& names, Verdict verdict = Verdict::displaced) {
  Decision decision{.key = key(), .reason = "why", .sweep_uuid = "s", .verdict = verdict};
  for (const std::string& name : names)
    decision.ranked.push_back({.variant = parse_variant(name), .is_baseline = name == "base"});
  return decision;
}

std::vector<std::string> names_of(const Decision& decision) {
  std::vector<std::string> names;
  for (const auto& ranked : decision.ranked) names.push_back(to_string(ranked.variant));
  return names;
}

/// Launches in which `candidate` takes 1/ratio of what `reference` takes.
std::vector<std::vector<Measurement>> launches_with(const std::vector<double>& ratios,
                                                    const std::string& candidate = "fast",
                                                    const std::string& reference = "base") {
  std::vector<std::vector<Measurement>> launches;
  for (const double ratio : ratios)
    launches.push_back({trial({.variant = reference, .median = 1e6}),
                        trial({.variant = candidate, .median = 1e6 / ratio})});
  return launches;
}

TEST(Confirm, AWinnerThatHoldsIsConfirmedWithTheIntervalOverTheLaunches) {
  const auto [decision, result, why, missed] =
      confirm(ranking({"fast", "second", "base", "slow"}),
              launches_with({1.2, 1.1, 1.3, 0.9, 1.15}), ConfirmPolicy{});
  EXPECT_EQ(result, ConfirmResult::confirmed);
  EXPECT_EQ(decision.status, DecisionStatus::confirmed);
  EXPECT_EQ(decision.verdict, Verdict::displaced);
  EXPECT_EQ(decision.confirmation.launches, 5U);
  EXPECT_NEAR(decision.confirmation.speedup, 1.15, 1e-4);
  EXPECT_NEAR(decision.confirmation.low, 0.9, 1e-4);
  EXPECT_NEAR(decision.confirmation.high, 1.3, 1e-4);
  EXPECT_THAT(names_of(decision), ElementsAre("fast", "second", "base", "slow"));
  EXPECT_THAT(decision.reason, HasSubstr("why; confirmed: 1.150x as fast in 5 fresh launches"));
}

TEST(Confirm, MoreLaunchesGiveANarrowerInterval) {
  ConfirmPolicy policy;
  policy.launches = 8;
  const auto [decision, result, why, missed] = confirm(
      ranking({"fast", "base"}), launches_with({1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 0.5, 2.0}), policy);
  EXPECT_EQ(result, ConfirmResult::confirmed);
  EXPECT_NEAR(decision.confirmation.low, 1.1, 1e-4);
  EXPECT_NEAR(decision.confirmation.high, 1.1, 1e-4);
}

TEST(Confirm, ALoserIsVetoedAndTheNextProvenOneLeads) {
  const auto [decision, result, why, missed] =
      confirm(ranking({"fast", "second", "base", "slow"}),
              launches_with({0.4, 0.5, 0.45, 0.5, 0.9}), ConfirmPolicy{});
  EXPECT_EQ(result, ConfirmResult::vetoed);
  EXPECT_EQ(decision.status, DecisionStatus::provisional);
  EXPECT_EQ(decision.verdict, Verdict::displaced);
  EXPECT_THAT(names_of(decision), ElementsAre("second", "base", "fast", "slow"));
  EXPECT_THAT(decision.reason, HasSubstr("fast was vetoed: 0.500x as fast in 5 fresh launches"));
}

TEST(Confirm, AGainThatDoesNotReproduceIsVetoed) {
  const auto [decision, result, why, missed] =
      confirm(ranking({"fast", "base", "slow"}), launches_with({0.99, 1.2, 0.98, 0.97, 1.1}),
              ConfirmPolicy{});
  EXPECT_EQ(result, ConfirmResult::confirmed);  // of the baseline: nobody else was proven
  EXPECT_EQ(decision.verdict, Verdict::kept);
  EXPECT_EQ(decision.status, DecisionStatus::confirmed);
  EXPECT_EQ(decision.confirmation, (Confirmation{.launches = 5}));
  EXPECT_THAT(names_of(decision), ElementsAre("base", "fast", "slow"));
  EXPECT_THAT(decision.reason, HasSubstr("did not reproduce; the baseline stays"));
}

TEST(Confirm, AFaultInAnyLaunchIsAVeto) {
  auto launches = launches_with({1.5, 1.5, 1.5, 1.5, 1.5});
  launches[2][1].outcome = Outcome::wrong;
  launches[2][1].detail = "element 3";
  const auto [decision, result, why, missed] =
      confirm(ranking({"fast", "base"}), launches, ConfirmPolicy{});
  EXPECT_THAT(names_of(decision), ElementsAre("base", "fast"));
  EXPECT_THAT(decision.reason, HasSubstr("fast was vetoed: in a fresh launch it was wrong: elem"));
}

TEST(Confirm, TooFewLaunchesSayNothing) {
  const Decision before = ranking({"fast", "base"});
  auto launches = launches_with({1.5, 1.5, 1.5, 1.5, 1.5});
  launches[1].pop_back();  // was not measured
  EXPECT_EQ(confirm(before, launches, ConfirmPolicy{}).result, ConfirmResult::open);
  launches = launches_with({1.5, 1.5, 1.5, 1.5, 1.5});
  launches[1][0].outcome = Outcome::failed;  // the reference
  EXPECT_EQ(confirm(before, launches, ConfirmPolicy{}).decision, before);
  launches = launches_with({1.5, 1.5, 1.5, 1.5, 1.5});
  launches[1][0].marks.assign(launches[1][0].samples.size(), 1);  // no sample counts
  EXPECT_EQ(confirm(before, launches, ConfirmPolicy{}).decision, before);
  launches = launches_with({1.5, 1.5, 1.5, 1.5, 1.5});
  for (auto& launch : launches) launch[1].key = key(4096);
  EXPECT_EQ(confirm(before, launches, ConfirmPolicy{}).decision, before);
  EXPECT_EQ(confirm(before, {}, ConfirmPolicy{.launches = 0}).decision, before);
}

TEST(Confirm, LaunchesThatMeasuredTooLittleAreCountedWhereOthersMeasuredAll) {
  const Decision before = ranking({"fast", "base"});
  auto launches = launches_with({1.5, 1.5, 1.5, 1.5, 1.5});
  EXPECT_EQ(confirm(before, launches, ConfirmPolicy{}).launches_missed, 0U);
  launches[1].pop_back();
  launches[3].clear();
  EXPECT_EQ(confirm(before, launches, ConfirmPolicy{}).launches_missed, 2U);
  // Two more make up for them.
  for (auto& more : launches_with({1.5, 1.5})) launches.push_back(std::move(more));
  const ConfirmStep step = confirm(before, launches, ConfirmPolicy{});
  EXPECT_EQ(step.result, ConfirmResult::confirmed);
  EXPECT_EQ(step.decision.confirmation.launches, 5U);
  EXPECT_EQ(step.launches_missed, 0U);
  // What no launch measured, further launches would not measure either.
  for (auto& launch : launches) launch.clear();
  EXPECT_EQ(confirm(before, launches, ConfirmPolicy{}).launches_missed, 0U);
}

TEST(Confirm, ALaunchWhoseDifferenceTheLoadMayHaveMadeDoesNotCount) {
  const Decision before = ranking({"fast", "base"});
  auto launches = launches_with({0.4, 1.5, 1.5, 1.5, 1.5});
  // The winner waited for 70 % of its time, the baseline for none.
  launches[0][1].conditions.kept_waiting = 0.7;
  for (Measurement& one : launches[1]) one.conditions.kept_waiting = 0.04;
  const auto [decision, result, why, missed] = confirm(before, launches, ConfirmPolicy{});
  EXPECT_EQ(result, ConfirmResult::open);
  EXPECT_EQ(missed, 0U) << "it was measured, so no further launch makes up for it";
  EXPECT_EQ(decision, before);
  EXPECT_THAT(why,
              HasSubstr("4 of 5 launches count: in 1 the ranks waited for a core up to 70.0 %"));
  // Which ones count is the policy's; with enough of the others the rest decide.
  EXPECT_EQ(confirm(before, launches, {.launches = 4}).result, ConfirmResult::confirmed);
  EXPECT_EQ(confirm(before, launches, {.launches = 4}).decision.confirmation.launches, 4U);
  EXPECT_EQ(confirm(before, launches, {.most_kept_waiting = {}}).decision.confirmation.launches,
            5U);
  // A fault is one on any machine.
  launches[0][1].outcome = Outcome::wrong;
  EXPECT_THAT(names_of(confirm(before, launches, ConfirmPolicy{}).decision),
              ElementsAre("base", "fast"));
}

TEST(Confirm, ABusyMachineConfirmsWhatTheLoadCannotHaveDone) {
  auto launches = launches_with({2, 2, 2, 2, 2});
  for (auto& launch : launches) {
    launch[0].conditions.kept_waiting = 0.3;
    launch[1].conditions.kept_waiting = 0.2;
  }
  const auto [decision, result, why, missed] =
      confirm(ranking({"fast", "base"}), launches, ConfirmPolicy{});
  EXPECT_EQ(result, ConfirmResult::confirmed);
  EXPECT_NEAR(decision.confirmation.speedup, 2 * 0.7 / 0.8, 1e-3)
      << "without what it may have done";
}

TEST(Confirm, AnotherWorldOfTheLaunchMayBeBusy) {
  auto launches = launches_with({1.5, 1.5, 1.5, 1.5, 1.5});
  for (auto& launch : launches) {
    TuningKey other = key();
    other.topology.ranks = other.topology.ranks_per_node = 4;
    launch.push_back(trial({.variant = "fast"}, other));
    launch.back().conditions.kept_waiting = 0.9;
  }
  EXPECT_EQ(confirm(ranking({"fast", "base"}), launches, ConfirmPolicy{}).result,
            ConfirmResult::confirmed);
}

TEST(Confirm, NothingIsConfirmedWithoutLaunches) {
  for (const auto& [names, verdict] : std::vector<std::pair<std::vector<std::string>, Verdict>>{
           {{"base", "slow"}, Verdict::kept},
           {{"base"}, Verdict::kept},
           {{"only"}, Verdict::no_baseline},
           {{"base", "perhaps"}, Verdict::undecided},
           {{"fast", "base"}, Verdict::displaced}}) {
    const Decision before = ranking(names, verdict);
    const ConfirmStep step = confirm(before, {}, ConfirmPolicy{});
    EXPECT_EQ(step.result, ConfirmResult::open) << names.front();
    EXPECT_EQ(step.decision, before);
    EXPECT_NE(step.why_open, "");
  }
}

TEST(Confirm, ALoserThatLeadsItsFamilyIsNotConfirmed) {
  Decision before = ranking({"plug_in{a=1}", "plug_in{a=2}"}, Verdict::no_baseline);
  before.ranked[0].speedup_over_baseline = 0.15;
  before.ranked[1].speedup_over_baseline = 0.1;
  EXPECT_FALSE(contest_of(before));
  const auto step = confirm(before, launches_with({2, 2, 2, 2, 2}, "plug_in{a=1}", "plug_in{a=2}"),
                            ConfirmPolicy{});
  EXPECT_EQ(step.result, ConfirmResult::open);
  EXPECT_EQ(step.decision, before);
  EXPECT_THAT(step.why_open, HasSubstr("slower than the baseline"));
}

TEST(Confirm, AFamilyWithoutABaselineComparesWithItsNext) {
  const Decision before = ranking({"a", "b", "c"}, Verdict::no_baseline);
  EXPECT_EQ(contest_of(before), (ConfirmContest{parse_variant("a"), parse_variant("b")}));
  // Equals: the simpler one leads although it is a little slower.
  const auto held =
      confirm(before, launches_with({0.99, 0.99, 0.99, 0.98, 0.97}, "a", "b"), ConfirmPolicy{});
  EXPECT_EQ(held.result, ConfirmResult::confirmed);
  EXPECT_THAT(names_of(held.decision), ElementsAre("a", "b", "c"));
  const auto lost =
      confirm(before, launches_with({0.5, 0.4, 0.5, 0.5, 0.8}, "a", "b"), ConfirmPolicy{});
  EXPECT_EQ(lost.result, ConfirmResult::confirmed);
  EXPECT_THAT(names_of(lost.decision), ElementsAre("b", "a", "c"));
  EXPECT_NEAR(lost.decision.confirmation.speedup, 2, 1e-4);
  EXPECT_NEAR(lost.decision.confirmation.low, 1.25, 1e-4);
  EXPECT_NEAR(lost.decision.confirmation.high, 2.5, 1e-4);
  auto faulty = launches_with({1.5, 1.5, 1.5, 1.5, 1.5}, "a", "b");
  faulty[4][1].outcome = Outcome::crashed;
  const auto fault = confirm(before, faulty, ConfirmPolicy{});
  EXPECT_EQ(fault.result, ConfirmResult::vetoed);
  EXPECT_THAT(names_of(fault.decision), ElementsAre("b", "c", "a"));
}

TEST(Confirm, TheTwinIsNotTheReference) {
  auto launches = launches_with({1.2, 1.2, 1.2, 1.2, 1.2});
  for (auto& launch : launches) {
    Measurement twin = trial({.variant = "base", .median = 1});
    twin.is_twin = true;
    launch.insert(launch.begin(), twin);
  }
  EXPECT_NEAR(
      confirm(ranking({"fast", "base"}), launches, ConfirmPolicy{}).decision.confirmation.speedup,
      1.2, 1e-4);
}

TEST(Confirm, AfterTooManyVetoesTheBaselineStays) {
  const Decision decision = keep_baseline(ranking({"b", "c", "base", "a"}), 5);
  EXPECT_THAT(names_of(decision), ElementsAre("base", "b", "c", "a"));
  EXPECT_EQ(decision.verdict, Verdict::kept);
  EXPECT_EQ(decision.status, DecisionStatus::confirmed);
  const Decision without = ranking({"a", "b"}, Verdict::no_baseline);
  EXPECT_EQ(keep_baseline(without, 5), without);
}

}  // namespace
}  // namespace colltune
