// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/regret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "colltune/decide/decide.h"
#include "trials.h"

namespace colltune {
namespace {

using literals::key;
using literals::trial;
using ::testing::SizeIs;

TEST(CrossFitted, JudgesByTheOtherHalfOfTheRounds) {
  const Regret regret = cross_fitted_regret(
      std::vector<Measurement>{trial({"base", 2000, true}), trial({"fast", 1000})}, {});
  ASSERT_THAT(regret.keys, SizeIs(2));  // chosen by the even rounds, and by the odd ones
  for (const KeyRegret& one : regret.keys) {
    EXPECT_EQ(one.key, key());
    EXPECT_EQ(one.verdict, Verdict::displaced);
    EXPECT_EQ(to_string(one.chosen), "fast");
    EXPECT_EQ(one.best, one.chosen);
    EXPECT_NEAR(one.chosen_speedup, 2, 0.01);
    EXPECT_EQ(one.regret, 0);
  }
  EXPECT_NEAR(regret.chosen_speedup, 2, 0.01);
  EXPECT_NEAR(regret.best_speedup, 2, 0.01);
  EXPECT_EQ(regret.within_five_percent, 1);
  EXPECT_EQ(regret.not_judged, 0u);
}

TEST(CrossFitted, AWinnerByLuckIsFoundOut) {
  // Twice as fast in even rounds, half as fast in odd ones.
  auto lucky = trial({"lucky", 1000});
  for (std::size_t i = 0; i < lucky.samples.size(); ++i)
    lucky.samples[i] = i % 2 == 0 ? lucky.samples[i] / 2 : lucky.samples[i] * 2;
  const Regret regret =
      cross_fitted_regret(std::vector<Measurement>{trial({"base", 1000, true}), lucky}, {});
  ASSERT_THAT(regret.keys, SizeIs(2));
  EXPECT_EQ(to_string(regret.keys[0].chosen), "lucky");
  EXPECT_NEAR(regret.keys[0].chosen_speedup, 0.5, 0.01);
  EXPECT_EQ(to_string(regret.keys[0].best), "base");
  EXPECT_NEAR(regret.keys[0].regret, 1, 0.02);
  EXPECT_EQ(to_string(regret.keys[1].chosen), "base");
  EXPECT_NEAR(regret.keys[1].regret, 1, 0.02);
  EXPECT_EQ(regret.within_five_percent, 0);
}

TEST(CrossFitted, WhoLeftEarlyIsNotTheBest) {
  const Regret regret = cross_fitted_regret(
      std::vector<Measurement>{trial({"base", 1000, true}),
                               trial({.variant = "left", .median = 500, .rounds = 4})},
      {});
  for (const KeyRegret& one : regret.keys) EXPECT_EQ(to_string(one.best), "base");
}

TEST(CrossFitted, WithoutABaselineNothingIsJudged) {
  const Regret regret = cross_fitted_regret(std::vector<Measurement>{trial({"a", 1000})}, {});
  EXPECT_EQ(regret, Regret{});
}

Launch launch_of(const std::string& uuid, double of_fast, double steal = -1) {
  Launch launch{.sweep_uuid = uuid,
                .measurements = {trial({"base", 1000, true}), trial({"fast", of_fast})}};
  for (Measurement& one : launch.measurements) one.conditions.steal = steal;
  launch.decisions = decide(launch.measurements, {}, uuid);
  return launch;
}

TEST(Pooled, EachLaunchIsJudgedByTheOthers) {
  // In its own launch the second one's choice was right; elsewhere it loses.
  const Regret regret = pooled_regret(
      std::vector<Launch>{launch_of("a", 1250), launch_of("b", 500), launch_of("c", 1250)});
  ASSERT_THAT(regret.keys, SizeIs(3));
  EXPECT_EQ(regret.keys[0].sweep_uuid, "a");
  EXPECT_EQ(to_string(regret.keys[0].chosen), "base");
  EXPECT_EQ(to_string(regret.keys[1].chosen), "fast");
  EXPECT_NEAR(regret.keys[1].chosen_speedup, 0.8, 0.01);
  EXPECT_NEAR(regret.keys[1].regret, 0.25, 0.01);
  // Median of 2 and 0.8.
  EXPECT_NEAR(regret.keys[0].best_speedup, 1.4, 0.01);
}

TEST(Pooled, OnlyWhatRanInTheSameLaunchIsCompared) {
  // Launches of two kinds. "steady" is the faster one in each; where the machine is slow "early"
  // leaves the rounds at once, and would look the fastest over the launches where it stayed.
  const auto launch = [](const std::string& uuid, double steady, double early, int rounds) {
    Launch made{.sweep_uuid = uuid,
                .measurements = {trial({"base", 1000, true}), trial({"steady", steady}),
                                 trial({.variant = "early", .median = early, .rounds = rounds})}};
    made.decisions = decide(made.measurements, {}, uuid);
    return made;
  };
  const Regret regret = pooled_regret(std::vector<Launch>{
      launch("a", 350, 400, 40), launch("b", 350, 400, 40), launch("c", 550, 660, 4),
      launch("d", 550, 660, 4), launch("e", 550, 660, 4)});
  ASSERT_THAT(regret.keys, SizeIs(5));
  for (const KeyRegret& one : regret.keys) {
    EXPECT_EQ(to_string(one.chosen), "steady");
    EXPECT_EQ(to_string(one.best), "steady");
    EXPECT_EQ(one.regret, 0);
  }
}

TEST(Pooled, NoisyCellsJudgeNothing) {
  const Regret regret = pooled_regret(std::vector<Launch>{
      launch_of("a", 500, 0.01), launch_of("b", 2000, 0.3), launch_of("c", 500, 0.01)});
  ASSERT_THAT(regret.keys, SizeIs(3));
  for (const KeyRegret& one : regret.keys) EXPECT_NEAR(one.best_speedup, 2, 0.02);
  EXPECT_NEAR(regret.keys[1].regret, 1, 0.02);
  EXPECT_EQ(pooled_regret(std::vector<Launch>{launch_of("a", 500)}).not_judged, 1u);
}

TEST(Pooled, LaunchesThatOnlyConfirmJudgeToo) {
  Launch confirming = launch_of("c", 500);
  confirming.decisions.clear();
  const Regret regret = pooled_regret(std::vector<Launch>{launch_of("a", 500), confirming});
  EXPECT_THAT(regret.keys, SizeIs(1));
}

TEST(HeldOut, AnswersAreJudgedByWhatWasMeasuredThere) {
  std::vector<Measurement> trials{trial({"base", 1000, true}, key(96)),
                                  trial({"fast", 500}, key(96)),
                                  trial({"base", 1000, true}, key(64))};
  trials[0].is_holdout = trials[1].is_holdout = true;
  const Regret regret = held_out_regret(
      trials, std::vector<HeldOutAnswer>{
                  {key(96), Verdict::undecided, parse_variant("base")},
                  {key(96), Verdict::displaced, parse_variant("fast")},
                  {key(96), Verdict::displaced, parse_variant("never_measured_there")},
                  {key(64), Verdict::kept, parse_variant("base")}});
  ASSERT_THAT(regret.keys, SizeIs(2));
  EXPECT_NEAR(regret.keys[0].regret, 1, 0.01);
  EXPECT_NEAR(regret.keys[1].regret, 0, 0.01);
  EXPECT_EQ(regret.not_judged, 2u);
  EXPECT_NEAR(regret.chosen_speedup, std::sqrt(2), 0.01);
  EXPECT_EQ(regret.within_five_percent, 0.5);
  EXPECT_THAT(without_undecided(regret).keys, SizeIs(1));
  EXPECT_EQ(without_undecided(regret).within_five_percent, 1);
}

TEST(HeldOut, AnAnswerThatLeftTheRoundsEarlyIsJudgedAllTheSame) {
  std::vector<Measurement> trials{trial({"base", 1000, true}, key(96)),
                                  trial({"fast", 500}, key(96)), trial({"slow", 2000}, key(96))};
  for (Measurement& one : trials) one.is_holdout = true;
  const std::size_t left_after = 4 * static_cast<std::size_t>(trials[2].samples_per_round);
  ASSERT_LT(2 * left_after, trials[2].samples.size());
  trials[2].samples.resize(left_after);
  trials[2].slowest_ranks.resize(left_after);
  if (!trials[2].marks.empty()) trials[2].marks.resize(left_after);
  const Regret regret = held_out_regret(
      trials, std::vector<HeldOutAnswer>{{key(96), Verdict::displaced, parse_variant("slow")}});
  ASSERT_THAT(regret.keys, SizeIs(1));
  EXPECT_NEAR(regret.keys[0].chosen_speedup, 0.5, 0.01);
  EXPECT_NEAR(regret.keys[0].regret, 3, 0.05);
  EXPECT_EQ(regret.keys[0].best, parse_variant("fast"));
}

}  // namespace
}  // namespace colltune
