// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What is named for several decisions at once.

#include "colltune/model/rule_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace colltune {
namespace {

using testing::ElementsAre;
using testing::Pair;

/// Variants and their times in the order of a ranking; "own" is the baseline.
using Ranking = std::vector<std::pair<std::string, int>>;

RuleStanding standing(const Ranking& ranking) {
  Decision decision;
  for (const auto& [name, time] : ranking) {
    RankedVariant ranked;
    ranked.variant = {name, {}};
    ranked.is_baseline = name == "own";
    ranked.median = std::chrono::nanoseconds(time);
    decision.ranked.push_back(std::move(ranked));
  }
  return standing_of(decision,
                     [](const Variant& variant) { return variant.implementation != "hidden"; });
}

std::string choose(const std::vector<Ranking>& rankings) {
  std::vector<RuleStanding> standings;
  for (const Ranking& ranking : rankings) standings.push_back(standing(ranking));
  return least_worst_regret(standings);
}

TEST(RuleChoice, AStandingIsOfWhatARuleCanName) {
  const RuleStanding one =
      standing({{"hidden", 100}, {"a", 200}, {"b", 300}, {"own", 400}, {"c", 250}});
  EXPECT_THAT(one.regret, ElementsAre(Pair("", 2), Pair("a", 1), Pair("b", 1.5), Pair("c", 1.25)));
  EXPECT_THAT(one.safe, ElementsAre("", "a", "b")) << "c is not proven to beat the baseline";
}

TEST(RuleChoice, TheLeastWorstRegretIsChosen) {
  EXPECT_EQ(choose({{{"a", 100}, {"b", 110}, {"own", 200}}}), "a");
  EXPECT_EQ(
      choose({{{"a", 100}, {"b", 110}, {"own", 300}}, {{"b", 100}, {"a", 120}, {"own", 300}}}),
      "b");
  EXPECT_EQ(choose({{{"a", 100}, {"c", 105}, {"b", 160}, {"own", 200}},
                    {{"b", 100}, {"c", 105}, {"a", 150}, {"own", 200}}}),
            "c")
      << "the best of none";
}

TEST(RuleChoice, OfEquallyGoodOnesTheFirstByItsNameIsChosen) {
  const Ranking one{{"b", 100}, {"a", 120}, {"own", 200}};
  const Ranking other{{"a", 100}, {"b", 120}, {"own", 200}};
  EXPECT_EQ(choose({one, other}), "a");
  EXPECT_EQ(choose({other, one}), "a");
}

TEST(RuleChoice, WhatIsNotProvenEverywhereIsNotChosen) {
  const Ranking one{{"a", 100}, {"b", 190}, {"own", 200}};
  EXPECT_EQ(choose({one, {{"b", 100}, {"own", 200}, {"a", 210}}}), "b");
  EXPECT_EQ(choose({one, {{"b", 100}, {"own", 200}}}), "b") << "a is missing";
  EXPECT_EQ(choose({one, {{"c", 100}, {"own", 200}}}), "") << "nothing is in both";
  EXPECT_EQ(choose({one, {{"own", 200}, {"a", 210}, {"b", 220}}}), "");
}

std::uint64_t border(const Ranking& low, const std::string& low_name, const Ranking& high,
                     const std::string& high_name) {
  const std::vector<RuleStanding> at_low{standing(low)};
  const std::vector<RuleStanding> at_high{standing(high)};
  return border_between_rules({.size = 1024, .name = low_name, .standings = at_low},
                              {.size = 16384, .name = high_name, .standings = at_high});
}

TEST(RuleChoice, TheBorderIsWhereTheTimesCross) {
  // a is twice as fast at the one size, b at the other.
  EXPECT_EQ(border({{"a", 100}, {"b", 200}}, "a", {{"b", 100}, {"a", 200}}, "b"), 4096U);
  // a is twice as fast at 1 KiB, b eight times at 16 KiB: a quarter of the way.
  EXPECT_EQ(border({{"a", 100}, {"b", 200}}, "a", {{"b", 100}, {"a", 800}}, "b"), 2048U);
  // The baseline stays where less than 2 % is gained.
  const auto before = border({{"a", 100}, {"own", 200}}, "a", {{"own", 100}, {"a", 200}}, "");
  EXPECT_GT(before, 3700U);
  EXPECT_LT(before, 4096U);
  const auto after = border({{"own", 100}, {"a", 200}}, "", {{"a", 100}, {"own", 200}}, "a");
  EXPECT_GT(after, 4096U);
  EXPECT_LT(after, 4500U);
  EXPECT_EQ(border({{"a", 100}, {"own", 101}}, "a", {{"own", 100}, {"a", 200}}, ""), 1024U);
}

TEST(RuleChoice, WhatWasNotMeasuredAtTheOtherSizeEndsAtItsOwn) {
  EXPECT_EQ(border({{"a", 100}, {"own", 200}}, "a", {{"own", 100}}, ""), 1024U);
  EXPECT_EQ(border({{"own", 100}}, "", {{"a", 100}, {"own", 200}}, "a"), 16383U);
  EXPECT_EQ(border({{"a", 100}}, "a", {{"b", 100}}, "b"), 4096U) << "nothing is known of either";
}

}  // namespace
}  // namespace colltune
