// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Fits for numbers of ranks that were not measured, and lookups of these.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "colltune/model/fitted/variant_fits.h"
#include "colltune/vocabulary/field_limits.h"
#include "planted_worlds.h"

namespace colltune {
namespace {

using namespace literals;
using planted_worlds::counts;
using planted_worlds::decisions;
using ::testing::AllOf;
using ::testing::HasSubstr;

DecisionTable table_of(std::vector<Decision> decided) {
  std::vector<VariantFit> fits = fits_with_worlds(decided, counts);
  return DecisionTable(
      {.generation = generation(1), .decisions = std::move(decided), .fits = std::move(fits)});
}

LookupQuery query(std::uint64_t bytes, int ranks, MatchLevel at_least = MatchLevel::other_ranks) {
  return {.problem = all_reduce(bytes), .nodes = 1, .ranks_per_node = ranks, .at_least = at_least};
}

std::set<int> worlds_of(const std::vector<VariantFit>& fits) {
  std::set<int> worlds;
  for (const VariantFit& fit : fits) worlds.insert(fit.key.topology.ranks_per_node);
  return worlds;
}

TEST(WorldFits, AreMadeForNumbersOfRanksThatWereNotMeasured) {
  const auto measured = decisions({2, 4}, 1);
  const auto fits = fits_across_worlds(measured, counts);
  EXPECT_EQ(worlds_of(fits), (std::set<int>{3, 6, 8, 12, 16}));
  EXPECT_EQ(fits.size(), 5 * planted_worlds::algorithms.size());
  for (const VariantFit& fit : fits) {
    EXPECT_EQ(fit.model, world_model);
    EXPECT_EQ(fit.key.topology, world(1, fit.key.topology.ranks));
    check_value(fit, FieldPath{.name = "fit"});
  }
  auto shuffled = measured;
  std::ranges::reverse(shuffled);
  EXPECT_EQ(fits_across_worlds(shuffled, counts), fits);
  const auto all = fits_with_worlds(measured, counts);
  EXPECT_EQ(all.size(), fits.size() + fits_of(measured).size());
}

TEST(WorldFits, NeedTwoWorldsOfOneKindAndKnownSteps) {
  EXPECT_TRUE(fits_across_worlds(decisions({2}, 1), counts).empty());
  const auto unknown = [](const TuningKey&, const RankedVariant&) {
    return std::optional<StepCount>();
  };
  EXPECT_TRUE(fits_across_worlds(decisions({2, 4}, 1), unknown).empty());
  auto mixed = decisions({2}, 1);
  for (Decision& decision : decisions({4}, 1, "e2")) mixed.push_back(std::move(decision));
  EXPECT_TRUE(fits_across_worlds(mixed, counts).empty());
  auto shared = decisions({2, 4}, 1);
  for (Decision& decision : shared)
    if (decision.key.topology.ranks == 4)
      decision.key.topology.placement = Placement::oversubscribed;
  EXPECT_TRUE(fits_across_worlds(shared, counts).empty());
}

TEST(WorldFits, IntervalsComeFromWorldsThatWereLeftOut) {
  const auto width = [](const std::vector<VariantFit>& fits) {
    return fits.front().inside.high / fits.front().inside.low;
  };
  EXPECT_GE(width(fits_across_worlds(decisions({2, 4}, 1), counts)), 4)
      << "two worlds say nothing of a third";
  EXPECT_LE(width(fits_across_worlds(decisions({2, 4, 8}, 1), counts)),
            width(fits_across_worlds(decisions({2, 4}, 1), counts)) / 1.5);
}

TEST(OtherRanksLookup, ThePlantedBestIsFoundWithinTenPercent) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const DecisionTable table = table_of(decisions({2, 4}, seed));
    std::set<std::string> winners;
    for (std::uint64_t size = 64; size <= 4U << 20U; size *= 2) {
      const LookupAnswer answer = table.find(query(size, 8));
      winners.insert(winner(answer));
      EXPECT_LE(planted_worlds::time_of(winner(answer), 8, static_cast<double>(size)),
                1.1 * planted_worlds::least_time(8, static_cast<double>(size)))
          << seed << ": " << winner(answer) << " at " << size;
    }
    EXPECT_EQ(winners, (std::set<std::string>{"doubling", "one_shot", "ring"}));
  }
}

TEST(OtherRanksLookup, TheAnswerSaysThatItIsPredicted) {
  const DecisionTable table = table_of(decisions({2, 4}, 1));
  const LookupAnswer answer = table.find(query(1U << 20U, 8));
  EXPECT_EQ(answer.source, Source::predicted);
  EXPECT_EQ(answer.match, MatchLevel::other_ranks);
  EXPECT_EQ(answer.members, MembersMatch::not_asked);
  EXPECT_EQ(answer.generation, generation(1));
  EXPECT_EQ(answer.measured_sizes, (std::vector<Bytes>{{1U << 20U}}));
  EXPECT_EQ(answer.decision.key.topology, world(1, 8));
  EXPECT_EQ(answer.decision.key.problem, all_reduce(1U << 20U));
  EXPECT_EQ(answer.decision.status, DecisionStatus::provisional);
  EXPECT_THAT(answer.decision.reason,
              AllOf(HasSubstr("nothing was measured with 8"), HasSubstr("with 2 and 4")));
  ASSERT_TRUE(answer.prediction);
  EXPECT_EQ(answer.prediction->model, "loggp");
  const RankedVariant& first = answer.decision.ranked.front();
  EXPECT_LT(answer.prediction->low, first.median);
  EXPECT_GT(answer.prediction->high, first.median);
  EXPECT_GT(first.speedup_over_baseline, 1);
  for (const RankedVariant& ranked : answer.decision.ranked) {
    EXPECT_EQ(ranked.samples, 0U);
    EXPECT_EQ(ranked.verified_calls, 0U);
  }
  check_value(answer.decision, FieldPath{.name = "decision"});
  EXPECT_EQ(table.find(query(512U << 10U, 8)).measured_sizes,
            (std::vector<Bytes>{{256U << 10U}, {1U << 20U}}));
}

TEST(OtherRanksLookup, OnlyAQuestionThatAcceptsItGetsIt) {
  const DecisionTable table = table_of(decisions({2, 4}, 1));
  const auto refused = [&](const LookupQuery& asked) {
    return error_of_action(StatusCode::not_found, [&] { (void)table.find(asked); });
  };
  for (const MatchLevel level :
       {MatchLevel::exact, MatchLevel::nearest_size, MatchLevel::any_environment})
    EXPECT_THAT(refused(query(1024, 8, level)), HasSubstr("ranks per node"));
  EXPECT_EQ(LookupQuery{}.at_least, MatchLevel::any_environment);
  EXPECT_THAT(refused(query(1024, 5)), HasSubstr("ranks per node")) << "5 is not predicted";
  EXPECT_THAT(refused(query(1024, 32)), HasSubstr("ranks per node")) << "too far";
  LookupQuery of_members = query(1024, 8);
  of_members.members = Members{.kinds = {{}}, .kind_of_rank = std::vector<int>(8, 0)};
  EXPECT_THAT(refused(of_members), HasSubstr("number of members"));
  EXPECT_THAT(refused(query(64U << 20U, 8)), HasSubstr("none that can run it is predicted"));
  LookupQuery elsewhere = query(1024, 8);
  elsewhere.architecture = "aarch64";
  EXPECT_THAT(refused(elsewhere), HasSubstr("architecture"));
}

TEST(OtherRanksLookup, WhatWasMeasuredAnswersFirst) {
  const auto measured = decisions({2, 4}, 1);
  const DecisionTable with = table_of(measured);
  const DecisionTable without(
      {.generation = generation(1), .decisions = measured, .fits = fits_of(measured)});
  for (const int ranks : {2, 4})
    for (const std::uint64_t size : {std::uint64_t{1024}, std::uint64_t{3000}}) {
      const LookupAnswer answer = with.find(query(size, ranks));
      EXPECT_EQ(answer, without.find(query(size, ranks, MatchLevel::any_environment)));
      EXPECT_NE(answer.match, MatchLevel::other_ranks);
    }
}

TEST(OtherRanksLookup, AnotherEnvironmentMayAnswerAndTwoAreTooMany) {
  auto measured = decisions({2, 4}, 1);
  LookupQuery asked = query(1024, 8);
  asked.environment_digest = "e3";
  EXPECT_EQ(table_of(measured).find(asked).decision.key.environment_digest, "e1");
  for (Decision& decision : decisions({2, 4}, 2, "e2")) measured.push_back(std::move(decision));
  const DecisionTable table = table_of(measured);
  EXPECT_THAT(
      error_of_action(StatusCode::invalid_argument, [&] { (void)table.find(query(1024, 8)); }),
      HasSubstr("environment digest"));
  asked.environment_digest = "e2";
  EXPECT_EQ(table.find(asked).decision.key.environment_digest, "e2");
}

TEST(OtherRanksLookup, WhatCannotRunOrIsNotProvenDoesNotComeFirst) {
  auto measured = decisions({2, 4}, 1);
  for (Decision& decision : measured)
    for (RankedVariant& ranked : decision.ranked)
      if (to_string(ranked.variant) == "one_shot") ranked.limits.max_ranks = 4;
  EXPECT_NE(winner(table_of(measured).find(query(64, 8))), "one_shot");
  // Nothing is proven: the baseline stays first in all worlds.
  for (Decision& decision : measured)
    std::ranges::stable_partition(decision.ranked, &RankedVariant::is_baseline);
  const LookupAnswer answer = table_of(measured).find(query(64, 8));
  EXPECT_EQ(winner(answer), "base");
  EXPECT_EQ(answer.decision.verdict, Verdict::undecided);
}

}  // namespace
}  // namespace colltune
