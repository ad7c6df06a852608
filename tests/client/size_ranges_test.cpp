// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/size_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "literal_decisions.h"

namespace colltune {
namespace {

using testing::decision;
using ::testing::ElementsAre;
using testing::ranked;
using testing::test_key;

std::vector<SizeRange> ranges_of(const std::vector<Decision>& decisions) {
  std::vector<const Decision*> rows;
  for (const auto& row : decisions) rows.push_back(&row);
  return size_ranges(rows);
}

Decision won_by(const std::string& variant, std::uint64_t bytes) {
  if (variant == "mpi.default") return decision(test_key(bytes), {ranked(variant, 2000, 1.0)});
  return decision(test_key(bytes), {ranked(variant, 1000, 2.0), ranked("mpi.default", 2000, 1.0)});
}

SizeRange range(std::uint64_t min, std::optional<std::uint64_t> max, const std::string& winner,
                bool extrapolated, std::vector<Bytes> measured) {
  SizeRange result{.min = {min},
                   .max = {},
                   .winner = parse_variant(winner),
                   .is_baseline = winner == "mpi.default",
                   .extrapolated = extrapolated,
                   .measured_sizes = std::move(measured)};
  if (max) result.max = Bytes{*max};
  return result;
}

TEST(SizeRanges, NoDecisionsGiveNoRange) { EXPECT_TRUE(ranges_of({}).empty()); }

TEST(SizeRanges, OneSizeIsMeasuredThereAndExtrapolatedAround) {
  EXPECT_THAT(ranges_of({won_by("ring{chunk=4}", 1024)}),
              ElementsAre(range(0, 1023, "ring{chunk=4}", true, {{1024}}),
                          range(1024, 1024, "ring{chunk=4}", false, {{1024}}),
                          range(1025, {}, "ring{chunk=4}", true, {{1024}})));
}

TEST(SizeRanges, TheBorderIsTheGeometricMeanAndBelongsToTheSmallerSize) {
  EXPECT_THAT(
      ranges_of({won_by("a", 1024), won_by("b", 4096)}),
      ElementsAre(range(0, 1023, "a", true, {{1024}}), range(1024, 2048, "a", false, {{1024}}),
                  range(2049, 4096, "b", false, {{4096}}), range(4097, {}, "b", true, {{4096}})));
  EXPECT_EQ(ranges_of({won_by("a", 1024), won_by("b", 2048)})[1].max, Bytes{1448});
  EXPECT_EQ(ranges_of({won_by("a", 3), won_by("b", 12)})[1].max, Bytes{6});
}

TEST(SizeRanges, NeighbouringSizesHaveABorderToo) {
  EXPECT_THAT(ranges_of({won_by("a", 0), won_by("b", 1), won_by("c", 2)}),
              ElementsAre(range(0, 0, "a", false, {{0}}), range(1, 1, "b", false, {{1}}),
                          range(2, 2, "c", false, {{2}}), range(3, {}, "c", true, {{2}})));
  const std::uint64_t large = std::uint64_t{1} << 62;
  EXPECT_EQ(ranges_of({won_by("a", large), won_by("b", large + 1)})[1].max, Bytes{large});
}

TEST(SizeRanges, EqualWinnersAreMergedAndKeepTheirMeasuredSizes) {
  EXPECT_THAT(ranges_of({won_by("a", 8), won_by("a", 16), won_by("b", 32), won_by("a", 64)}),
              ElementsAre(range(0, 7, "a", true, {{8}}), range(8, 22, "a", false, {{8}, {16}}),
                          range(23, 45, "b", false, {{32}}), range(46, 64, "a", false, {{64}}),
                          range(65, {}, "a", true, {{64}})));
}

TEST(SizeRanges, UnlikeParametersAreUnlikeWinners) {
  EXPECT_EQ(ranges_of({won_by("a{n=1}", 8), won_by("a{n=2}", 16)}).size(), 4u);
}

TEST(SizeRanges, WhereTheWinnersLimitsEndTheNextOneTakesOver) {
  const Limits small{.max_message = {1500}};
  const auto ranges =
      ranges_of({decision(test_key(1024), {ranked("one_shot", 500, 4.0, small),
                                           ranked("two_shot", 800, 2.5, {.min_message = {100}}),
                                           ranked("mpi.default", 2000, 1.0)}),
                 won_by("b", 4096)});
  EXPECT_THAT(ranges, ElementsAre(range(0, 1023, "one_shot", true, {{1024}}),
                                  range(1024, 1500, "one_shot", false, {{1024}}),
                                  range(1501, 2048, "two_shot", false, {{1024}}),
                                  range(2049, 4096, "b", false, {{4096}}),
                                  range(4097, {}, "b", true, {{4096}})));
}

TEST(SizeRanges, WhatIsComposedGivesWayToTheNextOne) {
  Decision composed = decision(test_key(1024), {ranked("grouped.all_reduce{parts=p1}", 900, 2.2),
                                                ranked("ring", 1000, 2.0)});
  composed.ranked[0].limits.max_message = {1024};
  EXPECT_THAT(ranges_of({composed}), ElementsAre(range(0, 1023, "ring", true, {{1024}}),
                                                 range(1024, 1024, "ring", false, {{1024}}),
                                                 range(1025, {}, "ring", true, {{1024}})));
  composed.ranked.pop_back();
  EXPECT_THAT(ranges_of({composed}), ElementsAre());
}

TEST(SizeRanges, WhereNoVariantCanRunThereIsAGap) {
  const Limits limits{.min_message = {64}, .max_message = {128}};
  EXPECT_THAT(ranges_of({decision(test_key(100), {ranked("a", 500, 0.0, limits)})}),
              ElementsAre(range(64, 99, "a", true, {{100}}), range(100, 100, "a", false, {{100}}),
                          range(101, 128, "a", true, {{100}})));
}

TEST(SizeRanges, TheLargestLimitIsNoOverflow) {
  const Limits limits{.max_message = {~std::uint64_t{0}}};
  const auto ranges = ranges_of({decision(test_key(8), {ranked("a", 500, 0.0, limits)})});
  EXPECT_EQ(ranges.back().max, std::nullopt);
}

}  // namespace
}  // namespace colltune
