// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/machine_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "colltune/decide/decide.h"
#include "colltune/decide/duel.h"
#include "trials.h"

namespace colltune {
namespace {

using literals::trial;
using std::chrono::nanoseconds;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Pair;
using ::testing::SizeIs;

auto By(double weight, std::size_t state) {
  return ::testing::AllOf(Field(&PassWeight::weight, DoubleEq(weight)),
                          Field(&PassWeight::state, state));
}

/// A visit to the key of `bytes` that met such a hand-over; 0: none was measured.
Measurement visit(int pass, int hand_over, std::uint64_t bytes = 1024) {
  Measurement measurement = trial({.variant = "a"}, literals::key(bytes));
  measurement.pass = pass;
  if (hand_over > 0) measurement.conditions.hand_over = nanoseconds(hand_over);
  return measurement;
}

std::vector<Measurement> visits(const std::vector<int>& hand_overs, std::uint64_t bytes = 1024) {
  std::vector<Measurement> all;
  for (const int hand_over : hand_overs)
    all.push_back(visit(static_cast<int>(all.size()), hand_over, bytes));
  return all;
}

std::vector<const Measurement*> pointers(const std::vector<Measurement>& all) {
  std::vector<const Measurement*> to;
  for (const Measurement& one : all) to.push_back(&one);
  return to;
}

TEST(MachineStates, AreFoundWhereSignalsTookUnlikeTimes) {
  const auto states = MachineStates(pointers(visits({31, 160, 29, 170, 30, 155, 28, 33}))).all();
  ASSERT_THAT(states, SizeIs(2));
  EXPECT_NEAR(states[0].median, 30, 1e-9);
  EXPECT_NEAR(states[0].share, 5.0 / 8, 1e-12);
  EXPECT_NEAR(states[1].from, 155, 1e-9);
  EXPECT_NEAR(states[1].median, 160, 1e-9);
  // Three: siblings of a core, cores of a die, cores of two.
  EXPECT_THAT(MachineStates(pointers(visits({10, 11, 10, 30, 31, 30, 160, 161, 162}))).all(),
              SizeIs(3));
}

TEST(MachineStates, AreOneWhereSignalsTookAboutTheSame) {
  EXPECT_THAT(MachineStates(pointers(visits({30, 31, 33, 29, 36, 30, 27, 40}))).all(), SizeIs(1));
  EXPECT_THAT(MachineStates(pointers(visits({30, 30, 30}))).all(), SizeIs(1));
  EXPECT_THAT(MachineStates(pointers(visits({30}))).all(), SizeIs(1));
  EXPECT_THAT(MachineStates(pointers(visits({0, 0}))).all(), SizeIs(0));
  // One visit of forty is an accident, and hides nothing.
  std::vector<int> most(39, 30);
  most.push_back(120'000);
  EXPECT_THAT(MachineStates(pointers(visits(most))).all(), SizeIs(1));
  for (std::size_t i = 0; i < 10; ++i) most[i] = 235;
  EXPECT_THAT(MachineStates(pointers(visits(most))).all(), SizeIs(2));
}

TEST(MachineStates, AVisitCountsByWhatItsStateDoes) {
  // In all 6 of 12 are far, as if equally often; of this key's 1 of 4.
  std::vector<Measurement> all = visits({30, 30, 30, 160});
  for (Measurement& other : visits({160, 160, 160, 160, 160, 30, 30, 30}, 4096))
    all.push_back(std::move(other));
  const MachineStates states(pointers(all));
  const auto of_key = visits({30, 30, 30, 160});
  EXPECT_THAT(states.weights_of(pointers(of_key)),
              ElementsAre(Pair(0, By(2.0 / 3, 0)), Pair(1, By(2.0 / 3, 0)), Pair(2, By(2.0 / 3, 0)),
                          Pair(3, By(2, 1))));
  // Where all visits met one state in a fifth, it counts for 0.35.
  std::vector<int> fifth(20, 30);
  for (std::size_t i = 0; i < 20; i += 5) fifth[i] = 160;
  const auto mostly_near = visits(fifth);
  EXPECT_NEAR(MachineStates(pointers(mostly_near)).weights_of(pointers(mostly_near)).at(0).weight,
              0.35 / 0.2, 1e-12);
  // Few do not stand for all.
  std::vector<int> hardly(9, 30);
  hardly.push_back(160);
  EXPECT_EQ(states.weights_of(pointers(visits(hardly))).at(9).weight, 3);
  // What is not known of some cannot be set right.
  const auto without_one = visits({30, 30, 160, 0});
  EXPECT_THAT(
      states.weights_of(pointers(without_one)),
      ElementsAre(Pair(0, By(1, 0)), Pair(1, By(1, 0)), Pair(2, By(1, 0)), Pair(3, By(1, 0))));
}

TEST(MachineStates, WeighedPassesMakeTheDuelThatOfTheMix) {
  // Twice as fast in one state, a quarter as fast in the other, which this key met too seldom.
  PassRounds reference;
  PassRounds rival;
  PassWeights weights;
  for (int pass = 0; pass < 4; ++pass) {
    reference[pass] = std::vector<double>(20, 1000);
    rival[pass] = std::vector<double>(20, pass == 3 ? 4000 : 500);
    weights[pass] = pass == 3 ? PassWeight{2, 1} : PassWeight{2.0 / 3, 0};
  }
  EXPECT_NEAR(fight_in_passes(reference, rival, 0.005).ratio, std::pow(2.0, 0.25), 1e-9);
  EXPECT_NEAR(fight_in_passes(reference, rival, 0.005, weights).ratio, std::pow(2.0, -0.5), 1e-9);
  EXPECT_NEAR(balanced_ratio(ratios_by_pass(reference, rival), weights), std::pow(2.0, -0.5), 1e-9);
}

TEST(MachineStates, OddPassesAreLeftOutOfEachState) {
  std::map<int, std::vector<double>> ratios;
  PassWeights weights;
  for (int pass = 0; pass < 16; ++pass) {
    ratios[pass] = {pass < 8 ? 2.0 : 0.5};
    weights[pass] = {.weight = pass < 8 ? 1.5 : 0.5, .state = pass < 8 ? 0u : 1u};
  }
  const double expected = std::pow(2.0, 0.75) * std::pow(0.5, 0.25);
  EXPECT_NEAR(balanced_ratio(ratios, weights), expected, 1e-9);
  ratios[3] = {450};
  ratios[12] = {1e-3};
  EXPECT_NEAR(balanced_ratio(ratios, weights), expected, 1e-9);
}

TEST(MachineStates, AKeyThatMetTheRareStateOftenDecidesLikeTheOthers) {
  // A rival that is faster between distant cores alone, which one visit of five met, and of those
  // to one key half.
  std::vector<Measurement> all;
  const auto add = [&](std::uint64_t bytes, int pass, bool is_far) {
    for (const bool is_baseline : {true, false}) {
      all.push_back(trial({.variant = is_baseline ? "mpi.base" : "rival",
                           .median = is_baseline ? 1000.0 : (is_far ? 600 : 1400),
                           .is_baseline = is_baseline,
                           .own_noise = is_baseline ? 0 : 0.05},
                          literals::key(bytes)));
      all.back().pass = pass;
      all.back().conditions.hand_over = nanoseconds(is_far ? 160 : 30);
    }
  };
  for (int pass = 0; pass < 24; ++pass) {
    add(1024, pass, pass % 2 == 0);
    for (const std::uint64_t other : {2048, 4096, 8192, 16384}) add(other, pass, pass % 8 == 0);
  }
  for (const Decision& decision : decide(all, {}, {}))
    if (decision.family == any_family) {
      EXPECT_NE(decision.verdict, Verdict::displaced) << decision.reason;
      for (const RankedVariant& ranked : decision.ranked)
        if (!ranked.is_baseline) {
          EXPECT_LT(ranked.speedup_over_baseline, 1) << decision.reason;
        }
    }
  // By its own visits the key would have said otherwise.
  for (Measurement& one : all) one.conditions.hand_over.reset();
  for (const Decision& decision : decide(all, {}, {}))
    if (decision.family == any_family && decision.key == literals::key(1024)) {
      for (const RankedVariant& ranked : decision.ranked)
        if (!ranked.is_baseline) {
          EXPECT_GT(ranked.speedup_over_baseline, 1);
        }
    }
}

}  // namespace
}  // namespace colltune
