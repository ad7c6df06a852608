// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What tables with fits choose between two sizes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "colltune/model/fitted/variant_fits.h"
#include "literals.h"

namespace colltune {
namespace {

using namespace literals;
using ::testing::HasSubstr;

/// 1 KiB and 16 KiB, of which 4 KiB is the middle. The baseline takes 1 us and 4 us, so 2 us there.
DecisionTable table_of(const std::vector<Entry>& lower, const std::vector<Entry>& upper) {
  const std::vector decisions{decide(all_reduce(1 * KiB), lower),
                              decide(all_reduce(16 * KiB), upper)};
  return DecisionTable({.generation = generation(1), .decisions = decisions}, fits_of(decisions));
}

LookupAnswer at(const DecisionTable& table, std::uint64_t bytes = 4 * KiB) {
  return table.find({.problem = all_reduce(bytes)});
}

TEST(RatioChoice, TheLeastRatioWinsThoughItWonAtNeitherSize) {
  const DecisionTable table = table_of(
      {{"low{n=1}", 400}, {"even{n=1}", 500}, {"high{n=1}", 950}, {"base", 1000, true}},
      {{"high{n=1}", 1600}, {"even{n=1}", 2000}, {"base", 4000, true}, {"low{n=1}", 4400}});
  const LookupAnswer answer = at(table);
  EXPECT_EQ(winner(answer), "even{n=1}");
  EXPECT_EQ(answer.decision.verdict, Verdict::displaced);
  EXPECT_THAT(answer.decision.reason, HasSubstr("with 0.50 of it"));
  EXPECT_EQ(winner(at(table, 1200)), "low{n=1}");
  EXPECT_EQ(winner(at(table, 15 * KiB)), "high{n=1}");
}

TEST(RatioChoice, AVariantThatItsLimitsEndBetweenTheSizesTakesPart) {
  Entry ends{"ends", 300};
  const std::vector<Entry> upper{{"wide", 3200}, {"base", 4000, true}};
  EXPECT_EQ(winner(at(table_of({ends, {"wide", 700}, {"base", 1000, true}}, upper))), "wide")
      << "nothing says why it is not at the larger size";
  ends.limits.max_message = {8 * KiB};
  const DecisionTable table = table_of({ends, {"wide", 700}, {"base", 1000, true}}, upper);
  const LookupAnswer answer = at(table);
  EXPECT_EQ(winner(answer), "ends");
  EXPECT_FALSE(answer.prediction) << "one size has no fit";
  // 0.3 of the 1.6 us that the line through the baseline's times has there.
  EXPECT_EQ(answer.decision.ranked[0].median.count(), 480);
  EXPECT_NEAR(answer.decision.ranked[0].speedup_over_baseline, 1 / 0.3, 0.01);
  EXPECT_EQ(winner(at(table, 9 * KiB)), "wide");
}

TEST(RatioChoice, AnImplementationWithOtherParametersAtEachSizeHasTheNearerSizes) {
  const DecisionTable table =
      table_of({{"tuned{n=1}", 300}, {"both", 850}, {"base", 1000, true}},
               {{"tuned{n=2}", 1200}, {"both", 3400}, {"base", 4000, true}});
  EXPECT_EQ(winner(at(table, 2 * KiB)), "tuned{n=1}");
  EXPECT_EQ(winner(at(table)), "tuned{n=1}");
  EXPECT_EQ(winner(at(table, 8 * KiB)), "tuned{n=2}");
}

TEST(RatioChoice, ASingleVariantIsPreferredUnlessTheImplementationPromisesClearlyMore) {
  const DecisionTable table =
      table_of({{"tuned{n=1}", 480}, {"both", 550}, {"base", 1000, true}},
               {{"tuned{n=2}", 1900}, {"both", 2200}, {"base", 4000, true}});
  EXPECT_EQ(winner(at(table)), "both");
}

TEST(RatioChoice, WhatIsProvenAtNeitherSizeDoesNotWin) {
  const DecisionTable table = table_of({{"fair", 800}, {"base", 1000, true}, {"lucky", 500}},
                                       {{"fair", 3200}, {"base", 4000, true}, {"lucky", 2000}});
  EXPECT_EQ(winner(at(table)), "fair");
}

TEST(RatioChoice, AWinnerThatIsExpectedToLoseGivesWayToTheBaseline) {
  const DecisionTable table =
      table_of({{"fast", 600}, {"base", 1000, true}}, {{"base", 4000, true}, {"fast", 8000}});
  const LookupAnswer answer = at(table);
  EXPECT_EQ(winner(answer), "base");
  EXPECT_EQ(winner(at(table, 1200)), "fast");
}

TEST(RatioChoice, WithoutACommonBaselineItIsAsWithoutFits) {
  const std::vector decisions{decide(all_reduce(1 * KiB), {{"a", 500}, {"b", 900}}),
                              decide(all_reduce(16 * KiB), {{"b", 2000}, {"a", 9000}})};
  const DecisionTable with({.generation = generation(1), .decisions = decisions},
                           fits_of(decisions));
  EXPECT_EQ(winner(at(with)), winner(at(table(decisions))));
}

}  // namespace
}  // namespace colltune
