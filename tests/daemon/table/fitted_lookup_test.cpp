// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Lookups of sizes that were not measured, in tables with fits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "colltune/model/fitted/variant_fits.h"
#include "colltune/table_file/table_content.h"
#include "colltune/vocabulary/canonical.h"
#include "literals.h"

namespace colltune {
namespace {

using namespace literals;
using ::testing::HasSubstr;

/// What a planted variant takes: alpha in ns, beta in ns per byte.
struct PlantedLine {
  double alpha;
  double beta;
  /// Every second time is longer by this factor.
  double disturbance = 1;

  [[nodiscard]] int at(std::uint64_t size, bool is_disturbed) const {
    return static_cast<int>(std::llround((alpha + beta * static_cast<double>(size)) *
                                         (is_disturbed ? disturbance : 1)));
  }
};

/// 256 B to 128 KiB by factors of 2, without 8 KiB.
std::vector<std::uint64_t> measured_sizes() {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = 256; size <= 128 * KiB; size *= 2)
    if (size != 8 * KiB) sizes.push_back(size);
  return sizes;
}

/// The baseline crosses `steep` near 4 KB. `steep` is proven from 16 KiB on.
std::vector<Decision> crossing_decisions(double disturbance = 1) {
  const PlantedLine base{10'000, 2, disturbance};
  const PlantedLine steep{14'000, 1, disturbance};
  std::vector<Decision> decisions;
  bool is_disturbed = false;
  for (const std::uint64_t size : measured_sizes()) {
    is_disturbed = !is_disturbed;
    const Entry of_base{"base", base.at(size, is_disturbed), true};
    const Entry of_steep{"steep", steep.at(size, !is_disturbed)};
    const bool is_proven = size >= 16 * KiB;
    decisions.push_back(decide(all_reduce(size), is_proven ? std::vector{of_steep, of_base}
                                                           : std::vector{of_base, of_steep}));
    decisions.back().verdict = is_proven ? Verdict::displaced : Verdict::kept;
  }
  return decisions;
}

DecisionTable with_fits(const std::vector<Decision>& decisions) {
  return DecisionTable(
      {.generation = generation(1), .decisions = decisions, .fits = fits_of(decisions)});
}

LookupQuery query(std::uint64_t bytes) { return {.problem = all_reduce(bytes)}; }

void expect_within(const LookupAnswer& answer) {
  ASSERT_TRUE(answer.prediction);
  const RankedVariant& first = answer.decision.ranked.front();
  EXPECT_LE(answer.prediction->low, first.median);
  EXPECT_GE(answer.prediction->high, first.median);
  EXPECT_EQ(answer.prediction->model, "alpha_beta");
}

TEST(FittedLookup, NothingChangesAtMeasuredSizes) {
  const auto decisions = crossing_decisions();
  const DecisionTable fitted = with_fits(decisions);
  const DecisionTable plain = table(decisions);
  for (const std::uint64_t size : measured_sizes())
    EXPECT_EQ(fitted.find(query(size)), plain.find(query(size))) << size;
}

TEST(FittedLookup, TheLeastRatioToTheBaselineComesFirst) {
  const auto decisions = crossing_decisions();
  EXPECT_EQ(winner(table(decisions).find(query(8 * KiB))), "base");
  const LookupAnswer answer = with_fits(decisions).find(query(8 * KiB));
  EXPECT_EQ(winner(answer), "steep");
  EXPECT_EQ(answer.source, Source::interpolated);
  EXPECT_EQ(answer.match, MatchLevel::nearest_size);
  EXPECT_EQ(answer.measured_sizes, (std::vector<Bytes>{{4 * KiB}, {16 * KiB}}));
  EXPECT_EQ(answer.decision.verdict, Verdict::displaced);
  EXPECT_EQ(answer.decision.status, DecisionStatus::provisional);
  EXPECT_THAT(answer.decision.reason, HasSubstr("between 4KiB and 16KiB: proven at one of them"));
  EXPECT_THAT(answer.decision.reason, HasSubstr("with 0.84 of it"));
  expect_within(answer);
  ASSERT_EQ(answer.decision.ranked.size(), 2U);
  EXPECT_NEAR(static_cast<double>(answer.decision.ranked[0].median.count()), 14'000 + 8192, 30);
  EXPECT_NEAR(static_cast<double>(answer.decision.ranked[1].median.count()), 10'000 + 2 * 8192, 30);
  EXPECT_NEAR(answer.decision.ranked[0].speedup_over_baseline, 26384.0 / 22192, 0.01);
}

TEST(FittedLookup, ASmallGainOverTheBaselineChangesNoChoiceBetweenSizes) {
  // `steep` gains 8 % at 4 KiB and at 16 KiB, where it is proven.
  auto decisions = crossing_decisions();
  for (Decision& decision : decisions)
    for (RankedVariant& ranked : decision.ranked)
      if (!ranked.is_baseline) {
        ranked.median = std::chrono::nanoseconds(
            (10'000 + 2 * static_cast<std::int64_t>(decision.key.problem.message_size.value)) * 92 /
            100);
        ranked.speedup_over_baseline = 1 / 0.92;
      }
  const LookupAnswer answer = with_fits(decisions).find(query(8 * KiB));
  EXPECT_EQ(winner(answer), "base");
  EXPECT_EQ(answer.decision.reason, table(decisions).find(query(8 * KiB)).decision.reason);
  expect_within(answer);
}

TEST(FittedLookup, NoiseWidensTheIntervalBetweenSizes) {
  const LookupAnswer answer = with_fits(crossing_decisions(1.3)).find(query(8 * KiB));
  expect_within(answer);
  EXPECT_GT(static_cast<double>(answer.prediction->high.count()),
            1.2 * static_cast<double>(answer.prediction->low.count()));
}

TEST(FittedLookup, AVariantThatWonAtNoNeighbourIsNotChosen) {
  auto decisions = crossing_decisions();
  // Faster than all, but proven nowhere.
  for (Decision& decision : decisions) {
    RankedVariant fast = decision.ranked.front();
    fast.variant = parse_variant("unproven");
    fast.is_baseline = false;
    fast.median = fast.low = fast.high = std::chrono::nanoseconds(
        5000 + static_cast<std::int64_t>(decision.key.problem.message_size.value / 8));
    decision.ranked.push_back(fast);
  }
  EXPECT_EQ(winner(with_fits(decisions).find(query(8 * KiB))), "steep");
  EXPECT_EQ(winner(with_fits(decisions).find(query(300))), "base");
}

TEST(FittedLookup, AWinnerThatCannotRunTheSizeIsNotChosen) {
  auto decisions = crossing_decisions();
  for (Decision& decision : decisions)
    for (RankedVariant& ranked : decision.ranked)
      if (!ranked.is_baseline) ranked.limits.min_message = {16 * KiB};
  EXPECT_EQ(winner(with_fits(decisions).find(query(8 * KiB))), "base");
}

TEST(FittedLookup, BeyondTheSizesTheWinnerStaysIfItIsClearlyFaster) {
  const DecisionTable fitted = with_fits(crossing_decisions());
  for (const std::uint64_t size : {256 * KiB, 512 * KiB}) {
    const LookupAnswer answer = fitted.find(query(size));
    EXPECT_EQ(winner(answer), "steep") << size;
    EXPECT_EQ(answer.source, Source::predicted);
    EXPECT_EQ(answer.measured_sizes, (std::vector<Bytes>{{128 * KiB}}));
    expect_within(answer);
    EXPECT_NEAR(static_cast<double>(answer.decision.ranked[0].median.count()),
                14'000 + static_cast<double>(size), 0.01 * static_cast<double>(size));
  }
}

TEST(FittedLookup, BeyondTheSizesOverlapKeepsTheWinner) {
  const auto decisions = crossing_decisions(1.8);
  const LookupAnswer answer = with_fits(decisions).find(query(512 * KiB));
  EXPECT_EQ(winner(answer), "steep");
  EXPECT_EQ(answer.source, Source::predicted);
  EXPECT_EQ(answer.decision.reason, table(decisions).find(query(512 * KiB)).decision.reason);
  expect_within(answer);
}

TEST(FittedLookup, BeyondTheSizesABaselineThatIsClearlyFasterIsTheAnswer) {
  // `early` wins at every size, but its line is steeper: at 512 KiB the baseline is far ahead.
  std::vector<Decision> decisions;
  for (const std::uint64_t size : measured_sizes())
    decisions.push_back(
        decide(all_reduce(size), {{"early", PlantedLine{1'000, 2}.at(size, false)},
                                  {"base", PlantedLine{200'000, 1}.at(size, false), true}}));
  EXPECT_EQ(winner(table(decisions).find(query(512 * KiB))), "early");
  const LookupAnswer answer = with_fits(decisions).find(query(512 * KiB));
  EXPECT_EQ(winner(answer), "base");
  EXPECT_EQ(answer.source, Source::predicted);
  EXPECT_EQ(answer.decision.verdict, Verdict::undecided);
  EXPECT_THAT(answer.decision.reason, HasSubstr("clearly more than the baseline"));
  expect_within(answer);
}

/// `fast` takes half of the baseline's time and is proven nowhere.
std::vector<Decision> open_decisions() {
  std::vector<Decision> decisions;
  for (const std::uint64_t size : measured_sizes()) {
    const int base = PlantedLine{1'000, 1}.at(size, false);
    decisions.push_back(decide(all_reduce(size), {{"base", base, true}, {"fast", base / 2}}));
    decisions.back().verdict = Verdict::undecided;
  }
  return decisions;
}

TEST(FittedLookup, OutsideTheSizesWhatIsClearlyFasterAtTwoOfThemMayWinWhereProofIsLacking) {
  const auto decisions = open_decisions();
  for (const std::uint64_t size : {std::uint64_t{64}, 512 * KiB, 1024 * KiB}) {
    EXPECT_EQ(winner(table(decisions).find(query(size))), "base") << "without fits";
    const LookupAnswer answer = with_fits(decisions).find(query(size));
    EXPECT_EQ(winner(answer), "fast") << size;
    EXPECT_EQ(answer.decision.verdict, Verdict::displaced);
    EXPECT_EQ(answer.decision.status, DecisionStatus::provisional);
    EXPECT_THAT(answer.decision.reason,
                HasSubstr(size == 64 ? "there and at 512" : "there and at 64KiB"));
  }
}

TEST(FittedLookup, OutsideTheSizesOneClearSizeIsNotEnough) {
  auto decisions = open_decisions();
  decisions.back().verdict = Verdict::kept;
  EXPECT_EQ(winner(with_fits(decisions).find(query(512 * KiB))), "base") << "refuted there";
  decisions = open_decisions();
  decisions[decisions.size() - 2].verdict = Verdict::kept;
  EXPECT_EQ(winner(with_fits(decisions).find(query(512 * KiB))), "base") << "refuted behind it";
  decisions = open_decisions();
  RankedVariant& nearest = decisions.back().ranked.back();
  nearest.high = decisions.back().ranked.front().low;
  EXPECT_EQ(winner(with_fits(decisions).find(query(512 * KiB))), "base") << "not clear there";
}

TEST(FittedLookup, BelowTheSizesTheBaselineIsTheAnswerWithItsInterval) {
  const LookupAnswer answer = with_fits(crossing_decisions()).find(query(64));
  EXPECT_EQ(winner(answer), "base");
  EXPECT_EQ(answer.source, Source::predicted);
  EXPECT_EQ(answer.decision.verdict, Verdict::kept);
  expect_within(answer);
}

TEST(FittedLookup, AWinnerOfTooFewSizesStaysWithoutAPrediction) {
  auto decisions = crossing_decisions();
  RankedVariant newest = decisions.back().ranked.front();
  newest.variant = parse_variant("newest");
  newest.median /= 2;
  decisions.back().ranked.insert(decisions.back().ranked.begin(), newest);
  const LookupAnswer answer = with_fits(decisions).find(query(256 * KiB));
  EXPECT_EQ(winner(answer), "newest");
  EXPECT_FALSE(answer.prediction);
}

TEST(FittedLookup, FartherAwayItIsAsWithoutFits) {
  const auto decisions = crossing_decisions(1.8);
  const DecisionTable fitted = with_fits(decisions);
  const DecisionTable plain = table(decisions);
  for (const std::uint64_t size : {std::uint64_t{32}, 1024 * KiB, std::uint64_t{1} << 60U}) {
    EXPECT_EQ(fitted.find(query(size)), plain.find(query(size))) << size;
    EXPECT_FALSE(fitted.find(query(size)).prediction);
  }
}

TEST(FittedLookup, WithoutABaselineTheFastestStays) {
  std::vector<Decision> decisions;
  for (const std::uint64_t size : measured_sizes())
    decisions.push_back(decide(all_reduce(size), {{"a", static_cast<int>(5000 + size)},
                                                  {"b", static_cast<int>(9000 + 2 * size)}}));
  const LookupAnswer answer = with_fits(decisions).find(query(256 * KiB));
  EXPECT_EQ(winner(answer), "a");
  EXPECT_EQ(answer.decision.verdict, Verdict::no_baseline);
  expect_within(answer);
}

TEST(FittedLookup, StrictnessAndPinnedGenerationsHoldAsBefore) {
  const DecisionTable fitted = with_fits(crossing_decisions());
  LookupQuery exact = query(8 * KiB);
  exact.at_least = MatchLevel::exact;
  EXPECT_THAT(error_of_action(StatusCode::not_found, [&] { (void)fitted.find(exact); }),
              HasSubstr("only an exact match is accepted"));
  LookupQuery pinned = query(8 * KiB);
  pinned.generation = 2;
  EXPECT_THAT(error_of_action(StatusCode::not_found, [&] { (void)fitted.find(pinned); }),
              HasSubstr("generation 2 is not in this table"));
}

TEST(FittedLookup, OtherWorldsAreNotPredicted) {
  const DecisionTable fitted = with_fits(crossing_decisions());
  LookupQuery elsewhere = query(8 * KiB);
  elsewhere.ranks_per_node = 4;
  EXPECT_THAT(error_of_action(StatusCode::not_found, [&] { (void)fitted.find(elsewhere); }),
              HasSubstr("nothing is stored"));
}

TEST(FittedLookup, MembersThatDifferAreNotMixed) {
  auto decisions = crossing_decisions();
  for (std::size_t i = 0; i < decisions.size(); ++i)
    decisions[i].sweep_uuid = i % 2 == 0 ? "even" : "odd";
  const std::string topology = digest_of_value(world());
  const auto members_of = [&](const std::string& uuid, const std::string& architecture) {
    return WorldMembers{.sweep_uuid = uuid,
                        .topology_digest = topology,
                        .members = {.kinds = {{.architecture = architecture, .features = {}}},
                                    .kind_of_rank = {0, 0}}};
  };
  const DecisionTable mixed({.generation = generation(1),
                             .decisions = decisions,
                             .members = {members_of("even", "a"), members_of("odd", "b")},
                             .fits = fits_of(decisions)});
  EXPECT_FALSE(mixed.find(query(8 * KiB)).prediction);
}

TEST(FittedLookup, TableFilesHoldTheseAnswers) {
  const auto decisions = crossing_decisions();
  const auto range_at = [](const DecisionTable& from, std::uint64_t size) {
    const std::vector<AnswerGroup> groups = from.answer_groups();
    const auto above =
        std::ranges::upper_bound(groups.front().ranges, Bytes{size}, {}, &AnswerRange::first);
    return *(above - 1);
  };
  const AnswerRange plain = range_at(table(decisions), 8 * KiB);
  EXPECT_EQ(plain.variant, parse_variant("base"));
  EXPECT_FALSE(plain.prediction);
  const AnswerRange fitted = range_at(with_fits(decisions), 8 * KiB);
  EXPECT_EQ(fitted.variant, parse_variant("steep"));
  ASSERT_TRUE(fitted.prediction);
  EXPECT_EQ(fitted.prediction->model, "alpha_beta");
  EXPECT_EQ(fitted.prediction->choice, FitChoice::expected) << "refuted at the smaller size";
  EXPECT_NEAR(fitted.prediction->line->alpha, 14'000, 1);
  EXPECT_NEAR(fitted.prediction->baseline_line->beta, 2, 1e-3);
  EXPECT_FALSE(range_at(with_fits(decisions), 16 * KiB).prediction) << "measured";
}

}  // namespace
}  // namespace colltune
