// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What tables with fits choose between two sizes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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
  return DecisionTable(
      {.generation = generation(1), .decisions = decisions, .fits = fits_of(decisions)});
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

// Of a sweep in which the machine had two states, a median may be of either one.
TEST(RatioChoice, PairedSpeedUpsCountRatherThanMedians) {
  std::vector decisions{
      decide(all_reduce(1 * KiB), {{"lucky", 400}, {"fast", 900}, {"base", 1000, true}}),
      decide(all_reduce(16 * KiB), {{"lucky", 1600}, {"fast", 3600}, {"base", 4000, true}})};
  for (Decision& decision : decisions) {
    decision.ranked[0].speedup_over_baseline = 1.2;
    decision.ranked[1].speedup_over_baseline = 2;
  }
  const DecisionTable table(
      {.generation = generation(1), .decisions = decisions, .fits = fits_of(decisions)});
  const LookupAnswer answer = at(table);
  EXPECT_EQ(winner(answer), "fast");
  EXPECT_THAT(answer.decision.reason, HasSubstr("with 0.50 of it"));
  EXPECT_NEAR(answer.decision.ranked[0].speedup_over_baseline, 2, 1e-6);
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

/// As table_of, where neither decision could prove anything.
DecisionTable open_table(std::vector<Decision> decisions) {
  for (Decision& decision : decisions) decision.verdict = Verdict::undecided;
  std::vector<VariantFit> fits = fits_of(decisions);
  return DecisionTable(
      {.generation = generation(1), .decisions = std::move(decisions), .fits = std::move(fits)});
}

TEST(RatioChoice, WhatIsClearlyFasterAtBothSizesMayWinWhereProofIsLacking) {
  const Entry base_below{"base", 1000, true};
  const Entry base_above{"base", 4000, true};
  const auto of = [&](int at_lower, int at_upper) {
    return at(open_table({decide(all_reduce(1 * KiB), {base_below, {"fast", at_lower}}),
                          decide(all_reduce(16 * KiB), {base_above, {"fast", at_upper}})}));
  };
  const LookupAnswer answer = of(500, 2000);
  EXPECT_EQ(winner(answer), "fast");
  EXPECT_EQ(answer.decision.verdict, Verdict::displaced);
  EXPECT_EQ(answer.decision.status, DecisionStatus::provisional);
  EXPECT_THAT(answer.decision.reason,
              HasSubstr("proven at neither, but shown to be faster at two"));
  // Intervals are 10 ns to either side.
  EXPECT_EQ(winner(of(985, 2000)), "base") << "the intervals at the lower size overlap";
  EXPECT_EQ(winner(of(950, 3800)), "base") << "less than a tenth";
}

TEST(RatioChoice, ADecisionThatKeepsItsBaselineRefutesWhatIsBehindIt) {
  std::vector decisions{decide(all_reduce(1 * KiB), {{"base", 1000, true}, {"fast", 500}}),
                        decide(all_reduce(16 * KiB), {{"base", 4000, true}, {"fast", 2000}})};
  decisions[0].verdict = Verdict::undecided;
  for (const Verdict verdict : {Verdict::kept, Verdict::displaced}) {
    decisions[1].verdict = verdict;
    const DecisionTable table(
        {.generation = generation(1), .decisions = decisions, .fits = fits_of(decisions)});
    EXPECT_EQ(winner(at(table)), "base");
  }
}

TEST(RatioChoice, AVariantThatEndsBetweenTheSizesIsShownByTheSizeBehind) {
  Entry ends{"ends", 500};
  ends.limits.max_message = {8 * KiB};
  const auto of = [&](int behind) {
    Entry earlier = ends;
    earlier.median_ns = behind;
    return at(open_table({decide(all_reduce(256), {{"base", 600, true}, earlier}),
                          decide(all_reduce(1 * KiB), {{"base", 1000, true}, ends}),
                          decide(all_reduce(16 * KiB), {{"base", 4000, true}})}));
  };
  EXPECT_EQ(winner(of(300)), "ends");
  EXPECT_EQ(winner(of(590)), "base") << "its interval overlaps the baseline's at 256 B";
}

TEST(RatioChoice, PlantedVariantsOfNoisySweepsAreFoundBetweenAndBeyondTheSizes) {
  // Three lines and a baseline; each median is off by up to a fifth, and no decision proves any.
  const auto planted = [](const std::string& name, std::uint64_t size) {
    const auto bytes = static_cast<double>(size);
    return name == "base"    ? 1000 + bytes
           : name == "short" ? 300 + bytes
           : name == "even"  ? 500 + bytes / 2
                             : 2000 + bytes / 8;
  };
  std::uint64_t state = 1;
  const auto noise = [&] {  // 0.8 to 1.2
    state = state * 6364136223846793005U + 1442695040888963407U;
    return 0.8 + 0.4 * static_cast<double>(state >> 40U) / static_cast<double>(1U << 24U);
  };
  const std::vector<std::string> names{"base", "short", "even", "long"};
  std::vector<Decision> decisions;
  for (std::uint64_t size = 64; size <= 1024 * KiB; size *= 8) {
    std::vector<Entry> entries;
    for (const std::string& name : names)
      entries.push_back({name, static_cast<int>(planted(name, size) * noise()), name == "base"});
    decisions.push_back(decide(all_reduce(size), entries));
    for (RankedVariant& ranked : decisions.back().ranked) {
      ranked.low = ranked.median * 8 / 10;
      ranked.high = ranked.median * 12 / 10;
    }
  }
  const DecisionTable table = open_table(std::move(decisions));
  // As logarithms of the time over the best one's, summed over the sizes.
  double lost = 0;
  double lost_by_the_baseline = 0;
  for (std::uint64_t size = 32; size <= 8192 * KiB; size *= 2) {
    double best = planted("base", size);
    for (const std::string& name : names) best = std::min(best, planted(name, size));
    const double chosen = planted(winner(at(table, size)), size);
    EXPECT_LE(chosen, planted("base", size)) << size;
    lost += std::log(chosen / best);
    lost_by_the_baseline += std::log(planted("base", size) / best);
  }
  EXPECT_LT(lost, lost_by_the_baseline / 2);
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
  const DecisionTable with(
      {.generation = generation(1), .decisions = decisions, .fits = fits_of(decisions)});
  EXPECT_EQ(winner(at(with)), winner(at(table(decisions))));
}

}  // namespace
}  // namespace colltune
