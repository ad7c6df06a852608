// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What several passes of one sweep come to: each counts the same, however long it was.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "colltune/decide/confirm.h"
#include "colltune/decide/decide.h"
#include "colltune/decide/duel.h"
#include "colltune/decide/noise.h"
#include "colltune/decide/null_test.h"
#include "colltune/decide/regret.h"
#include "colltune/decide/trials.h"
#include "colltune/vocabulary/error.h"
#include "trials.h"

namespace colltune {
namespace {

using literals::trial;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Rounds of a rival beside a reference of 1000 ns: `rounds` of the pass, `ratio` times as fast.
std::vector<double> at(double ratio, std::size_t rounds) {
  return std::vector<double>(rounds, 1000 / ratio);
}

Duel duel_of(const PassRounds& rival, double risk = 0.005) {
  PassRounds reference;
  for (const auto& [pass, rounds] : rival) reference[pass] = at(1, rounds.size());
  return fight_in_passes(reference, rival, risk);
}

TEST(DuelInPasses, OfOnePassIsTheDuelOfItsRounds) {
  const std::vector<double> one{1000, 1100, 900, 1050, 1020, 980, 1000, 1010};
  const std::vector<double> other{950, 1000, 990, 940, 1000, 930, 955, 1000};
  EXPECT_EQ(fight_in_passes({{0, one}}, {{0, other}}, 0.05), fight(one, other, 0.05));
  EXPECT_EQ(fight_in_passes({{0, one}}, {{1, other}}, 0.05), Duel{});
}

TEST(DuelInPasses, ALongPassDoesNotOutvoteThreeShortOnes) {
  const Duel duel =
      duel_of({{0, at(2, 1000)}, {1, at(0.8, 12)}, {2, at(0.8, 12)}, {3, at(0.8, 12)}});
  EXPECT_EQ(duel.rounds, 1036u);
  EXPECT_EQ(duel.passes, 4u);
  EXPECT_NEAR(duel.ratio, std::pow(2 * 0.8 * 0.8 * 0.8, 0.25), 1e-9);
  // Three quarters of the weight lie at 0.8.
  EXPECT_NEAR(*duel.low, 0.8, 1e-9);
  EXPECT_NEAR(duel.highest, duel.ratio, 1e-9);
  EXPECT_EQ(judge(duel, {}), Standing::beaten);
  // In one pass of 1036 rounds it would have been proven.
  std::vector<double> all = at(2, 1000);
  all.insert(all.end(), 36, 1250);
  EXPECT_EQ(judge(duel_of({{0, all}}), {}), Standing::proven);
}

TEST(DuelInPasses, OneOddPassAmongManyDoesNotDecide) {
  PassRounds rival;
  for (int pass = 0; pass < 8; ++pass) rival[pass] = at(0.95, 10);
  rival[3] = at(450, 1);
  EXPECT_NEAR(duel_of(rival).ratio, 0.95, 1e-9);
  PassRounds inverse;
  for (const auto& [pass, rounds] : rival) inverse[pass] = at(rounds[0] / 1000, rounds.size());
  EXPECT_NEAR(duel_of(inverse).ratio * duel_of(rival).ratio, 1, 1e-9);
  EXPECT_NEAR(balanced_ratio({{0, {450}}, {1, {0.5}}}), 15, 1e-9);  // with so few, all count
}

TEST(DuelInPasses, FasterInEachIsProven) {
  const Duel duel =
      duel_of({{0, at(1.5, 60)}, {1, at(1.2, 12)}, {2, at(1.1, 12)}, {3, at(1.3, 12)}});
  EXPECT_NEAR(duel.ratio, std::pow(1.5 * 1.2 * 1.1 * 1.3, 0.25), 1e-9);
  EXPECT_GE(*duel.low, 1.1 - 1e-9);
  EXPECT_LE(*duel.low, duel.ratio);
  EXPECT_GE(*duel.high, duel.ratio);
  EXPECT_EQ(judge(duel, {}), Standing::proven);
  EXPECT_THAT(explain(duel, {}), HasSubstr("over 96 common rounds of 4 passes"));
}

TEST(DuelInPasses, BoundsNeverLieOnTheFarSideOfTheRatio) {
  // By rounds it is 1.1 times as fast in three of four; the fourth takes more than that away.
  const Duel duel =
      duel_of({{0, at(1.1, 40)}, {1, at(1.1, 40)}, {2, at(1.1, 40)}, {3, at(0.5, 40)}}, 0.05);
  EXPECT_NEAR(duel.ratio, std::pow(1.1 * 1.1 * 1.1 * 0.5, 0.25), 1e-9);
  EXPECT_LT(duel.ratio, 1);
  EXPECT_EQ(*duel.low, duel.ratio);
  EXPECT_NEAR(*duel.high, 1.1, 1e-9);
}

TEST(DuelInPasses, AVisitOfARoundIsNoPassOfItsOwn) {
  // Whatever it met: with a pass of its own it would make 41 rounds worth 4.
  for (const double ratio : {1.3, 0.5, 20.0}) {
    const Duel duel = duel_of({{0, at(ratio, 1)}, {1, at(1.3, 40)}});
    EXPECT_EQ(duel.rounds, 41U);
    EXPECT_NEAR(duel.ratio, 1.3, 1e-9);
    EXPECT_EQ(judge(duel, {}), Standing::proven);
  }
  // A state of the machine that one round met is not spoken for.
  const Duel of_states =
      fight_in_passes({{0, at(1, 1)}, {1, at(1, 40)}}, {{0, at(0.5, 1)}, {1, at(1.3, 40)}}, 0.005,
                      {{0, {.weight = 3, .state = 1}}, {1, {.weight = 1, .state = 0}}});
  EXPECT_NEAR(of_states.ratio, 1.3, 1e-9);
}

TEST(DuelInPasses, WhoLeftEarlyInEachPassIsBeatenOrOpenByItsBestRounds) {
  // Faster in one pass, and hopeless after a round in the others.
  PassRounds baseline;
  for (int pass = 0; pass < 4; ++pass) baseline[pass] = at(1, 60);
  const Duel hopeless = fight_in_passes(
      baseline, {{0, at(1.1, 60)}, {1, at(0.3, 1)}, {2, at(0.3, 1)}, {3, at(0.3, 1)}}, 0.005);
  EXPECT_EQ(hopeless.low, std::nullopt);  // worth five rounds
  EXPECT_EQ(judge(hopeless, {}), Standing::beaten);
  const Duel close = duel_of({{0, at(1.1, 2)}, {1, at(1.05, 2)}});
  EXPECT_EQ(judge(close, {}), Standing::open);
}

TEST(DuelInPasses, TwoStatesAreFoundInTheRoundsOfAllPasses) {
  const auto around = [](double ratio) {
    std::vector<double> rounds;
    for (int i = 0; i < 20; ++i) rounds.push_back(1000 / (ratio * (1 + 0.001 * i)));
    return rounds;
  };
  const Duel duel =
      duel_of({{0, around(1.5)}, {1, around(0.9)}, {2, around(1.5)}, {3, around(1.5)}});
  ASSERT_TRUE(duel.modes);
  EXPECT_TRUE(is_bimodal(duel, {}));
  EXPECT_EQ(judge(duel, {}), Standing::open);
}

/// The trial in the pass.
Measurement in_pass(int pass, Measurement measurement) {
  measurement.pass = pass;
  return measurement;
}

std::vector<std::string> names(const Decision& decision) {
  std::vector<std::string> all;
  for (const auto& ranked : decision.ranked) all.push_back(to_string(ranked.variant));
  return all;
}

TEST(DecideOnPasses, TheWinnerIsWhoIsFastestOverAllOfThem) {
  // "lucky" wins a long first pass by far; "steady" wins the three that come later.
  std::vector<Measurement> trials;
  for (int pass = 0; pass < 4; ++pass) {
    const int rounds = pass == 0 ? 200 : 20;
    trials.push_back(in_pass(
        pass, trial({.variant = "base", .median = 1000, .is_baseline = true, .rounds = rounds})));
    trials.push_back(in_pass(pass, trial({.variant = "steady", .median = 700, .rounds = rounds})));
    trials.push_back(in_pass(
        pass, trial({.variant = "lucky", .median = pass == 0 ? 500.0 : 950.0, .rounds = rounds})));
  }
  const Decision decision = decide(trials, {}, "s").at(0);
  EXPECT_THAT(names(decision), ElementsAre("steady", "lucky", "base"));
  EXPECT_EQ(decision.verdict, Verdict::displaced);
  EXPECT_THAT(decision.reason, HasSubstr("over 260 common rounds of 4 passes"));
  const RankedVariant& winner = decision.ranked[0];
  EXPECT_NEAR(winner.speedup_over_baseline, 1 / 0.7, 0.01);
  EXPECT_EQ(winner.samples, 260u);
  EXPECT_EQ(winner.verified_calls, 8u);  // two in each pass
  EXPECT_NEAR(decision.ranked[1].speedup_over_baseline, std::pow(2 / 0.95 / 0.95 / 0.95, 0.25),
              0.01);
  // Time per call: by weight half of the passes' rounds, not by their number.
  EXPECT_GT(decision.ranked[1].median.count(), 800);
  // The first pass alone would have chosen the other one.
  EXPECT_EQ(names(decide(std::span(trials).first(3), {}, "s").at(0)).front(), "lucky");
}

TEST(DecideOnPasses, TheOrderOfTheMeasurementsDoesNotMatter) {
  std::vector<Measurement> trials;
  for (int pass = 0; pass < 3; ++pass) {
    trials.push_back(in_pass(pass, trial({"base", 1000, true})));
    trials.push_back(in_pass(pass, trial({"fast", 800.0 + 20 * pass})));
  }
  const auto decisions = decide(trials, {}, "s");
  std::ranges::reverse(trials);
  EXPECT_EQ(decide(trials, {}, "s"), decisions);
}

TEST(DecideOnPasses, AFaultInALaterPassEndsTheVariant) {
  std::vector<Measurement> trials{trial({"base", 1000, true}), trial({"fast", 500}),
                                  in_pass(1, trial({"base", 1000, true})),
                                  in_pass(1, trial({"fast", 500}))};
  EXPECT_EQ(names(decide(trials, {}, "s").at(0)).front(), "fast");
  trials[3].outcome = Outcome::wrong;
  trials[3].samples.clear();
  EXPECT_THAT(names(decide(trials, {}, "s").at(0)), ElementsAre("base"));
}

TEST(DecideOnPasses, WhoDidNotComeBackIsPutBesideThoseWhoDidAndCannotWin) {
  // In the first pass, where all that is not the baseline flew, "left" was the slowest of them.
  std::vector<Measurement> trials{trial({"base", 1000, true}), trial({"kept", 400}),
                                  trial({"left", 500}), in_pass(1, trial({"base", 1000, true})),
                                  in_pass(1, trial({"kept", 900}))};
  const Decision decision = decide(trials, {}, "s").at(0);
  // Not 1000 / 500: 4 / 5 of what "kept" came to.
  EXPECT_THAT(names(decision), ElementsAre("kept", "left", "base"));
  const double kept = std::sqrt(1000.0 / 400 * 1000 / 900);
  EXPECT_NEAR(decision.ranked[0].speedup_over_baseline, kept, 0.01);
  EXPECT_NEAR(decision.ranked[1].speedup_over_baseline, kept * 0.8, 0.01);
  // Where that is no gain, its own rounds do not prove any.
  trials[4] = in_pass(1, trial({"kept", 1800}));
  EXPECT_THAT(names(decide(trials, {}, "s").at(0)), ElementsAre("base", "kept", "left"));
  // Nor does it keep the baseline from being simply kept.
  trials[1] = trial({"kept", 1000});
  trials[4] = in_pass(1, trial({"kept", 1000}));
  EXPECT_EQ(decide(trials, {}, "s").at(0).verdict, Verdict::kept);
}

TEST(DecideOnPasses, APassWhoseRoundsDoNotCountIsNotHeldAgainstAVariant) {
  // Its first pass, in which all flew, is void; in the second it is the fastest.
  std::vector<Measurement> trials{trial({"base", 1000, true}),
                                  trial({"other", 400}),
                                  trial({"best", 380}),
                                  in_pass(1, trial({"base", 1000, true})),
                                  in_pass(1, trial({"other", 900})),
                                  in_pass(1, trial({"best", 800}))};
  trials[2].marks.assign(trials[2].samples.size(), static_cast<int>(RunMark::late));
  const Decision decision = decide(trials, {}, "s").at(0);
  EXPECT_THAT(names(decision), ElementsAre("best", "other", "base"));
  const double other = std::sqrt(1000.0 / 400 * 1000 / 900);
  EXPECT_NEAR(decision.ranked[0].speedup_over_baseline, other * 900 / 800, 0.01);
}

TEST(DecideOnPasses, AFamilyWithoutABaselineIsLedByWhoRanInAllPasses) {
  // "left" was the faster one while it ran, say as the one that was quarantined in between.
  const std::vector<Measurement> trials{
      trial({"base", 1000, true}), trial({"kept", 400, false, "own"}),
      trial({"left", 300, false, "own"}), in_pass(1, trial({"base", 1000, true})),
      in_pass(1, trial({"kept", 900, false, "own"}))};
  const auto decisions = decide(trials, {}, "s");
  const auto own = std::ranges::find(decisions, "own", &Decision::family);
  ASSERT_NE(own, decisions.end());
  EXPECT_EQ(to_string(own->ranked.front().variant), "kept");
  EXPECT_EQ(own->verdict, Verdict::no_baseline);
}

TEST(DecideOnPasses, ATrialMayOccurOnceInEachPass) {
  const std::vector<Measurement> trials{trial({"base", 1000, true}), trial({"base", 1000, true})};
  try {
    (void)decide(trials, {}, "s");
    ADD_FAILURE() << "the same trial twice in one pass was decided on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("occurs twice in pass 0"));
  }
}

TEST(NullTestOnPasses, ATwinThatGainsInOnePassAloneIsNoWin) {
  std::vector<Measurement> trials;
  for (int pass = 0; pass < 4; ++pass)
    for (const bool is_twin : {false, true}) {
      auto one = in_pass(pass, trial({"base", is_twin && pass == 0 ? 800.0 : 1000.0, !is_twin}));
      one.is_twin = is_twin;
      trials.push_back(std::move(one));
    }
  EXPECT_EQ(null_test(std::span(trials).first(2), {}).wins, 1u);
  const NullTest all = null_test(trials, {});
  EXPECT_EQ(all.keys, 1u);
  EXPECT_EQ(all.wins, 0u);
}

TEST(NoiseOfPasses, CountersOfPassesAddUpAndAKeyIsCountedOnce) {
  std::vector<Measurement> trials;
  for (int pass = 0; pass < 3; ++pass)
    for (const char* variant : {"a", "b"}) trials.push_back(in_pass(pass, trial({variant})));
  for (Measurement& one : trials) {
    one.conditions.steal = 0.01 * one.pass;
    one.conditions.throttle_events = 2;
    one.conditions.page_faults = one.samples.size();
  }
  trials[5].conditions.page_faults = 0;
  const Noise noise = noise_of(trials);
  EXPECT_EQ(noise.keys, 1u);
  EXPECT_DOUBLE_EQ(noise.worst_steal, 0.01);  // the passes' mean
  EXPECT_EQ(noise.throttle_events, 6u);
  EXPECT_EQ(noise.faulting, (std::map<std::string, std::size_t>{{"a", 1}}));
}

TEST(TrialsOfPasses, AreCountedOnceByTheFirstFault) {
  std::vector<Measurement> trials{trial({"a"}), in_pass(1, trial({"a"})), trial({"b"}),
                                  in_pass(2, trial({"b"})), in_pass(1, trial({"b"}))};
  EXPECT_EQ(count_outcomes(trials), (std::map<Outcome, std::size_t>{{Outcome::ok, 2}}));
  trials[3].outcome = Outcome::timed_out;
  trials[4].outcome = Outcome::wrong;
  EXPECT_EQ(count_outcomes(trials),
            (std::map<Outcome, std::size_t>{{Outcome::ok, 1}, {Outcome::wrong, 1}}));
  EXPECT_TRUE(has_fault(count_outcomes(trials)));
  trials[0].is_twin = true;
  EXPECT_EQ(count_outcomes(trials).at(Outcome::ok), 2u);
}

TEST(TrialsOfPasses, WhatIsNotThereIsCountedAndIsNoFault) {
  std::vector<Measurement> trials{trial({"a"}), trial({"b"})};
  trials[1].outcome = Outcome::unavailable;
  EXPECT_EQ(count_outcomes(trials),
            (std::map<Outcome, std::size_t>{{Outcome::ok, 1}, {Outcome::unavailable, 1}}));
  EXPECT_FALSE(has_fault(count_outcomes(trials)));
  EXPECT_FALSE(has_fault({{Outcome::failed, 0}}));
  for (const auto& [outcome, name] : enum_names(Outcome{}))
    EXPECT_EQ(has_fault({{outcome, 1}}), name != "ok" && name != "unavailable") << name;
}

TEST(ConfirmOnPasses, ALaunchSaysTheBalancedRatio) {
  std::vector<Measurement> launch;
  for (int pass = 0; pass < 2; ++pass) {
    const int rounds = pass == 0 ? 100 : 20;
    launch.push_back(in_pass(
        pass, trial({.variant = "base", .median = 1000, .is_baseline = true, .rounds = rounds})));
    launch.push_back(in_pass(
        pass, trial({.variant = "fast", .median = pass == 0 ? 400.0 : 1600.0, .rounds = rounds})));
  }
  const Decision decision =
      decide(std::vector<Measurement>{trial({"base", 1000, true}), trial({"fast", 500})}, {}, "s")
          .at(0);
  const std::vector launches(5, launch);
  const ConfirmStep step = confirm(decision, launches, {});
  EXPECT_EQ(step.result, ConfirmResult::confirmed);
  EXPECT_NEAR(step.decision.confirmation.speedup, std::sqrt(1000.0 / 400 * 1000 / 1600), 0.01);
  auto faulty = launches;
  faulty[2][1].outcome = Outcome::wrong;  // in its first pass alone
  EXPECT_THAT(confirm(decision, faulty, {}).decision.reason,
              HasSubstr("in a fresh launch it was wrong"));
}

TEST(RegretOfPasses, ALaunchIsJudgedByTheBalancedRatio) {
  const auto launch = [](const std::string& uuid, const std::vector<double>& fast) {
    Launch made{.sweep_uuid = uuid};
    for (int pass = 0; pass < static_cast<int>(fast.size()); ++pass) {
      const int rounds = pass == 0 ? 100 : 20;
      made.measurements.push_back(in_pass(
          pass, trial({.variant = "base", .median = 1000, .is_baseline = true, .rounds = rounds})));
      made.measurements.push_back(
          in_pass(pass, trial({.variant = "fast",
                               .median = fast[static_cast<std::size_t>(pass)],
                               .rounds = rounds})));
    }
    made.decisions = decide(made.measurements, {}, uuid);
    return made;
  };
  const Regret regret =
      pooled_regret(std::vector<Launch>{launch("a", {500}), launch("b", {250, 1000, 1000})});
  ASSERT_THAT(regret.keys, SizeIs(2));
  EXPECT_EQ(to_string(regret.keys[0].chosen), "fast");
  EXPECT_NEAR(regret.keys[0].chosen_speedup, std::cbrt(4), 0.01);
}

TEST(RegretOfPasses, ALaunchWeighsAsManyAsItsCommonPasses) {
  // "unlucky" met a bad pass in two launches and stayed away from then on; in the third one it ran
  // in all passes and was the faster one.
  const auto launch = [](const std::string& uuid, const std::vector<double>& unlucky) {
    Launch made{.sweep_uuid = uuid, .measurements = {}, .decisions = {}};
    for (int pass = 0; pass < 6; ++pass) {
      made.measurements.push_back(in_pass(pass, trial({"base", 1000, true})));
      made.measurements.push_back(in_pass(pass, trial({"steady", 500})));
      if (static_cast<std::size_t>(pass) < unlucky.size())
        made.measurements.push_back(
            in_pass(pass, trial({"unlucky", unlucky[static_cast<std::size_t>(pass)]})));
    }
    made.decisions = decide(made.measurements, {}, uuid);
    return made;
  };
  const Regret regret = pooled_regret(
      std::vector<Launch>{launch("chooser", {250, 250, 250, 250, 250, 250}), launch("a", {2000}),
                          launch("b", {2000}), launch("c", {250, 250, 250, 250, 250, 250})});
  ASSERT_THAT(regret.keys, SizeIs(4));
  EXPECT_EQ(to_string(regret.keys[0].chosen), "unlucky");
  EXPECT_NEAR(regret.keys[0].chosen_speedup, 4, 0.05);
  EXPECT_EQ(regret.keys[0].regret, 0);
}

TEST(RegretOfPasses, WhoMissedPassesIsComparedByThoseOfBoth) {
  // "left" ran where all was fast, and was the slower one there.
  std::vector<Measurement> trials{trial({"base", 1000, true}), trial({"kept", 400}),
                                  trial({"left", 500}), in_pass(1, trial({"base", 1000, true})),
                                  in_pass(1, trial({"kept", 900}))};
  Launch chooser{.sweep_uuid = "a", .measurements = trials, .decisions = decide(trials, {}, "a")};
  Launch judge = chooser;
  judge.sweep_uuid = "b";
  judge.decisions.clear();
  const Regret pooled = pooled_regret(std::vector<Launch>{chooser, judge});
  ASSERT_THAT(pooled.keys, SizeIs(1));
  EXPECT_EQ(to_string(pooled.keys[0].chosen), "kept");
  EXPECT_EQ(to_string(pooled.keys[0].best), "kept");
  for (const KeyRegret& one : cross_fitted_regret(trials, {}).keys)
    EXPECT_EQ(to_string(one.best), "kept");
}

}  // namespace
}  // namespace colltune
