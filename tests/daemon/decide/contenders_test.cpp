// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/contenders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "trials.h"

namespace colltune {
namespace {

using literals::trial;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::vector<std::string> contenders(const std::vector<Measurement>& of_key) {
  std::vector<std::string> names;
  for (const TrialName& name : contenders_of(of_key))
    names.push_back(to_string(name.variant) + (name.is_twin ? " (twin)" : ""));
  return names;
}

TEST(Contenders, AreWithinTheFactorOfTheFastest) {
  const std::vector<Measurement> trials{trial({"base", 1000, true}), trial({"fast", 500}),
                                        trial({"near", 3690}), trial({"far", 3700})};
  EXPECT_THAT(contenders(trials), UnorderedElementsAre("base", "fast", "near"));
}

TEST(Contenders, ABaselineAndItsTwinAlwaysGoOn) {
  auto twin = trial({"base", 9000});
  twin.is_twin = true;
  EXPECT_THAT(contenders({trial({"base", 9000, true}), twin, trial({"fast", 500})}),
              UnorderedElementsAre("base", "base (twin)", "fast"));
}

TEST(Contenders, WhoLeftEarlyIsJudgedByTheRoundsThatItRan) {
  // Its three rounds lie where the drift made all slow: 1.4 times the leader's there.
  auto left = trial({.variant = "left", .median = 700, .rounds = 3});
  EXPECT_THAT(contenders({trial({"base", 1000, true}), trial({"fast", 500}), left}),
              Contains("left"));
  left = trial({.variant = "left", .median = 4500, .rounds = 1});
  EXPECT_THAT(contenders({trial({"base", 1000, true}), trial({"fast", 500}), left}),
              Not(Contains("left")));
}

TEST(Contenders, WhoLeadsRanAllRounds) {
  // One lucky round makes nobody the measure of the others.
  EXPECT_THAT(contenders({trial({"base", 1000, true}),
                          trial({.variant = "lucky", .median = 100, .rounds = 1})}),
              UnorderedElementsAre("base", "lucky"));
  EXPECT_THAT(contenders({trial({"base", 1000, true}), trial({"slow", 2500}),
                          trial({.variant = "lucky", .median = 100, .rounds = 1})}),
              Contains("slow"));
}

/// The same trials once more, as a later pass.
void add_pass(std::vector<Measurement>& trials, int pass, std::vector<Measurement> more) {
  for (Measurement& one : more) {
    one.pass = pass;
    trials.push_back(std::move(one));
  }
}

TEST(Contenders, OverPassesTheirMeanCounts) {
  // 5 times as slow as the fastest in one pass, 1.2 times in the other: 2.4 on the mean.
  std::vector<Measurement> trials;
  add_pass(trials, 0,
           {trial({"base", 1000, true}), trial({"fast", 500}), trial({"state", 600}),
            trial({"slow", 2200})});
  add_pass(trials, 1,
           {trial({"base", 1000, true}), trial({"fast", 500}), trial({"state", 2500}),
            trial({"slow", 2300})});
  EXPECT_THAT(contenders(trials), UnorderedElementsAre("base", "fast", "state"));
  std::ranges::reverse(trials);
  EXPECT_THAT(contenders(trials), UnorderedElementsAre("base", "fast", "state"));
}

TEST(Contenders, TheBestOverAllPassesIsTheMeasure) {
  // "fast" and "state" take turns; who is 5.8 times as slow as either is 4.1 times as slow as both.
  std::vector<Measurement> trials;
  add_pass(trials, 0, {trial({"fast", 500}), trial({"state", 1000}), trial({"steady", 2900})});
  add_pass(trials, 1, {trial({"fast", 1000}), trial({"state", 500}), trial({"steady", 2900})});
  EXPECT_THAT(contenders(trials), UnorderedElementsAre("fast", "state", "steady"));
}

// As seen: late passes may be a round or two, and what met those ended the race of the fastest.
TEST(Contenders, APassWithoutARoundThatCountsEndsNobodysRace) {
  std::vector<Measurement> trials;
  for (const int pass : {0, 1})
    add_pass(trials, pass,
             {trial({"base", 1000, true}), trial({"fast", 500}), trial({"next", 700})});
  Measurement met = trial({.variant = "fast", .median = 130'000, .rounds = 1});
  met.marks.assign(1, 1);
  add_pass(trials, 2,
           {trial({.variant = "base", .median = 1000, .is_baseline = true, .rounds = 1}), met,
            trial({.variant = "next", .median = 700, .rounds = 1})});
  EXPECT_THAT(contenders(trials), Contains("fast"));
}

TEST(Contenders, OnePassOfSeveralEndsNobodysRace) {
  std::vector<Measurement> trials;
  for (const int pass : {0, 1})
    add_pass(trials, pass,
             {trial({"base", 1000, true}), trial({"fast", 500}), trial({"next", 700})});
  add_pass(trials, 2,
           {trial({.variant = "base", .median = 1000, .is_baseline = true, .rounds = 1}),
            trial({.variant = "fast", .median = 50'000, .rounds = 1}),
            trial({.variant = "next", .median = 700, .rounds = 1})});
  EXPECT_THAT(contenders(trials), Contains("fast"));
}

TEST(Contenders, WhoMissedTheLastPassDoesNotComeBack) {
  std::vector<Measurement> trials;
  add_pass(trials, 0, {trial({"base", 1000, true}), trial({"fast", 500}), trial({"out", 510})});
  add_pass(trials, 1, {trial({"base", 1000, true}), trial({"fast", 500})});
  EXPECT_THAT(contenders(trials), UnorderedElementsAre("base", "fast"));
}

TEST(Contenders, AreFewerAndCloserAfterMorePasses) {
  EXPECT_NEAR(contender_factor(1), 7.39, 0.01);
  EXPECT_NEAR(contender_factor(4), 2.72, 0.01);
  EXPECT_NEAR(contender_factor(16), 1.65, 0.01);
  EXPECT_EQ(most_contenders(1), 24u);
  EXPECT_EQ(most_contenders(4), 18u);
  EXPECT_EQ(most_contenders(10), 6u);
  EXPECT_EQ(most_contenders(64), 6u);
  std::vector<Measurement> trials;
  for (int pass = 0; pass < 8; ++pass) {
    std::vector<Measurement> of_pass{trial({"base", 1000, true})};
    for (int i = 0; i < 15; ++i)
      of_pass.push_back(trial({"b_" + std::to_string(10 + i), 500.0 + 10 * i}));
    add_pass(trials, pass, of_pass);
  }
  const auto found = contenders(trials);
  EXPECT_EQ(found.size(), 1 + most_contenders(8));
  EXPECT_THAT(found, Contains("b_19"));
  EXPECT_THAT(found, Not(Contains("b_20")));
}

TEST(Contenders, AFaultInAnyPassEndsIt) {
  std::vector<Measurement> trials{trial({"base", 1000, true}), trial({"fast", 500}),
                                  trial({"base", 1000, true}), trial({"fast", 500})};
  trials[2].pass = trials[3].pass = 1;
  EXPECT_THAT(contenders(trials), UnorderedElementsAre("base", "fast"));
  trials[3].outcome = Outcome::timed_out;
  trials[3].samples.clear();
  EXPECT_THAT(contenders(trials), ElementsAre("base"));
  trials[0].outcome = Outcome::wrong;
  EXPECT_THAT(contenders(trials), testing::IsEmpty());
}

TEST(Contenders, TheBestOfEachFamilyUpToABound) {
  std::vector<Measurement> trials{trial({"base", 1000, true})};
  for (int i = 0; i < 40; ++i) {
    trials.push_back(trial({"mpi_" + std::to_string(10 + i), 500.0 + 10 * i}));
    // Slower than the factor times the fastest of all, and yet their family's best.
    trials.push_back(trial({"own_" + std::to_string(10 + i), 8000.0 - 10 * i, false, "own"}));
  }
  const auto found = contenders(trials);
  ASSERT_EQ(found.size(), 1 + 2 * most_contenders(1));
  EXPECT_THAT(found, Contains("base"));
  EXPECT_THAT(found, Contains("mpi_10"));
  EXPECT_THAT(found, Contains("mpi_33"));
  EXPECT_THAT(found, Not(Contains("mpi_34")));
  EXPECT_THAT(found, Contains("own_49"));
  EXPECT_THAT(found, Contains("own_26"));
  EXPECT_THAT(found, Not(Contains("own_25")));
}

TEST(Contenders, WithoutARoundThatCountsAllSamplesDo) {
  const auto unseen = [](double median) {
    auto one = trial({"unseen", median});
    one.marks.assign(one.samples.size(), static_cast<int>(RunMark::gap));
    return one;
  };
  EXPECT_THAT(contenders({trial({"base", 1000, true}), unseen(7000)}), Contains("unseen"));
  EXPECT_THAT(contenders({trial({"base", 1000, true}), unseen(7500)}), Not(Contains("unseen")));
  // Nor does it lead who alone has rounds that count.
  EXPECT_THAT(contenders({unseen(100), trial({"slow", 9000})}), ElementsAre("unseen"));
  // Nothing was timed at all: nothing speaks for it.
  auto untimed = trial({"untimed", 500});
  untimed.samples.clear();
  EXPECT_THAT(contenders({trial({"base", 1000, true}), untimed}), ElementsAre("base"));
}

TEST(Contenders, WhoIsFarAheadInTheRarerStateStays) {
  // Seven kin are a little faster between near cores, where most passes were; one is three times as
  // fast between distant ones.
  std::vector<Measurement> all;
  for (int pass = 0; pass < 12; ++pass) {
    const bool is_far = pass % 4 == 1;
    const auto add = [&](const std::string& variant, double median, bool is_baseline = false) {
      all.push_back(literals::trial({.variant = variant,
                                     .median = median,
                                     .is_baseline = is_baseline,
                                     .family = is_baseline ? "mpi" : "own"}));
      all.back().pass = pass;
      all.back().conditions.hand_over = std::chrono::nanoseconds(is_far ? 235 : 65);
    };
    add("mpi.base", 4000, true);
    for (int i = 0; i < 7; ++i) add("kin" + std::to_string(i), is_far ? 3000 + i : 1000 + i);
    add("steady", is_far ? 1000 : 1100);
  }
  EXPECT_TRUE(contenders_of(all).contains({.variant = parse_variant("steady")}));
  for (Measurement& one : all) one.conditions.hand_over.reset();
  EXPECT_FALSE(contenders_of(all).contains({.variant = parse_variant("steady")}));
}

}  // namespace
}  // namespace colltune
