// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/table/decision_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "literals.h"

namespace colltune {
namespace {

using namespace literals;
using std::chrono::nanoseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

LookupQuery ask(std::uint64_t bytes) { return {.problem = all_reduce(bytes)}; }

/// 1 KiB: the ring wins. 4 KiB: the tree wins. 16 KiB: the baseline stays, the ring is slower.
DecisionTable three_sizes() {
  return table(
      {decide(all_reduce(1 * KiB), {{"ring", 1000}, {"tree", 1500}, {"base", 2000, true}}),
       decide(all_reduce(4 * KiB), {{"tree", 2000}, {"ring", 3000}, {"base", 4000, true}}),
       decide(all_reduce(16 * KiB), {{"base", 8000, true}, {"tree", 7900}, {"ring", 9000}})});
}

std::string refused(const DecisionTable& table, const LookupQuery& query) {
  return error_of_action(StatusCode::invalid_argument, [&] { (void)table.find(query); });
}

TEST(Find, ExactSizeIsMeasured) {
  const auto table = three_sizes();
  const LookupAnswer answer = table.find(ask(4 * KiB));
  EXPECT_EQ(winner(answer), "tree");
  EXPECT_EQ(answer.source, Source::measured);
  EXPECT_EQ(answer.match, MatchLevel::exact);
  EXPECT_EQ(answer.measured_sizes, std::vector<Bytes>{{4 * KiB}});
  EXPECT_EQ(answer.generation, generation(1));
  EXPECT_EQ(answer.decision.ranked.size(), 3U);
  EXPECT_EQ(answer.decision.key, table.set().decisions[1].key);
  EXPECT_EQ(answer.decision.reason, "measured");
}

TEST(Find, SizeIsRoundedForTheWorld) {
  const auto table = three_sizes();
  EXPECT_EQ(table.find(ask(4 * KiB + 3)).source, Source::measured);
  Problem gather = all_reduce(64);
  gather.collective = Collective::all_gather;
  gather.reduce_op = ReduceOp::none;
  const auto gathers = colltune::literals::table({decide(gather, {{"base", 10, true}})});
  gather.message_size = {71};  // 2 ranks of f32: the unit is 8 bytes
  const LookupAnswer answer = gathers.find({.problem = gather});
  EXPECT_EQ(answer.source, Source::measured);
  EXPECT_EQ(answer.decision.key.problem.message_size, Bytes{64});
}

TEST(Find, BetweenSizesTimesAreInterpolated) {
  const auto table = three_sizes();
  const LookupAnswer answer = table.find(ask(2 * KiB));
  EXPECT_EQ(answer.source, Source::interpolated);
  EXPECT_EQ(answer.match, MatchLevel::nearest_size);
  EXPECT_EQ(answer.measured_sizes, (std::vector<Bytes>{{1 * KiB}, {4 * KiB}}));
  EXPECT_EQ(answer.decision.key.problem.message_size, Bytes{2 * KiB});
  // Half way in the logarithm: geometric means of 1000 and 3000, of 1500 and 2000, of 2000 and
  // 4000.
  ASSERT_EQ(answer.decision.ranked.size(), 3U);
  EXPECT_EQ(winner(answer), "ring");
  EXPECT_EQ(answer.decision.ranked[0].median, nanoseconds(1732));
  EXPECT_EQ(answer.decision.ranked[1].median, nanoseconds(1732));
  EXPECT_EQ(answer.decision.ranked[2].median, nanoseconds(2828));
  EXPECT_NEAR(answer.decision.ranked[0].speedup_over_baseline, 2828.4 / 1732.05, 1e-3);
}

TEST(Find, BetweenSizesTheBaselineStaysUnlessBeatenAtBoth) {
  const auto table = colltune::literals::table(
      {decide(all_reduce(1 * KiB), {{"ring", 500}, {"base", 2000, true}, {"tree", 1990}}),
       decide(all_reduce(4 * KiB), {{"base", 4000, true}, {"tree", 3990}, {"ring", 4100}})});
  // The ring loses at 4 KiB, the tree wins nowhere although it is faster at both.
  const LookupAnswer answer = table.find(ask(2 * KiB));
  EXPECT_EQ(winner(answer), "base");
  EXPECT_EQ(answer.decision.ranked.size(), 3U);
  EXPECT_THAT(answer.decision.reason, HasSubstr("no variant is proven to beat the baseline"));
}

TEST(Find, BetweenSizesWithUnlikeWinnersWhoIsProvenAtBothWins) {
  const auto table = colltune::literals::table(
      {decide(all_reduce(1 * KiB),
              {{"mail", 500}, {"tree", 700}, {"ring", 800}, {"base", 2000, true}}),
       decide(all_reduce(4 * KiB),
              {{"cma", 1000}, {"ring", 1500}, {"tree", 1900}, {"base", 4000, true}})});
  // Neither winner is ranked at the other's size; of the others the ring is faster between.
  const LookupAnswer answer = table.find(ask(2 * KiB));
  EXPECT_EQ(winner(answer), "ring");
  EXPECT_EQ(answer.decision.verdict, Verdict::displaced);
  EXPECT_EQ(answer.decision.status, DecisionStatus::provisional);
  EXPECT_THAT(answer.decision.reason, HasSubstr("won at neither, but is proven"));
}

TEST(Find, BetweenSizesWithOtherParametersAtEachTheNearerOnesAreTaken) {
  const auto ends = [](const std::string& high) {
    return colltune::literals::table(
        {decide(all_reduce(1 * KiB), {{"mail{a=1}", 500}, {"ring", 700}, {"base", 2000, true}}),
         decide(all_reduce(16 * KiB), {{high, 4000}, {"base", 8000, true}, {"ring", 8100}})});
  };
  const auto table = ends("mail{a=2}");
  const LookupAnswer low = table.find(ask(2 * KiB));
  EXPECT_EQ(winner(low), "mail{a=1}");
  EXPECT_EQ(low.source, Source::interpolated);
  EXPECT_EQ(low.decision.verdict, Verdict::displaced);
  EXPECT_EQ(low.decision.status, DecisionStatus::provisional);
  EXPECT_THAT(low.decision.reason, HasSubstr("mail is proven to beat the baseline at both"));
  // The baseline between, over the speed-up at 1 KiB.
  const auto base = std::ranges::find_if(low.decision.ranked,
                                         [](const RankedVariant& one) { return one.is_baseline; });
  ASSERT_NE(base, low.decision.ranked.end());
  const RankedVariant& first = low.decision.ranked.front();
  EXPECT_DOUBLE_EQ(first.speedup_over_baseline, 4);
  EXPECT_NEAR(static_cast<double>(first.median.count()),
              static_cast<double>(base->median.count()) / 4, 1);
  EXPECT_EQ(low.decision.ranked.size(), 3U);
  EXPECT_EQ(winner(table.find(ask(8 * KiB))), "mail{a=2}");
  // An implementation that is proven at one size alone decides nothing.
  EXPECT_EQ(winner(ends("tree").find(ask(2 * KiB))), "base");
}

TEST(Find, BetweenSizesWithOtherParametersThoseThatDoNotApplyAreNotTaken) {
  Decision low =
      decide(all_reduce(1 * KiB), {{"mail{a=1}", 500}, {"mail{a=3}", 700}, {"base", 2000, true}});
  low.ranked.front().limits.max_message = {1 * KiB};
  const auto table = colltune::literals::table(
      {low, decide(all_reduce(16 * KiB), {{"mail{a=2}", 4000}, {"base", 8000, true}})});
  EXPECT_EQ(winner(table.find(ask(2 * KiB))), "mail{a=3}");
}

TEST(Find, BetweenSizesAWinnerThatIsProvenAtBothWins) {
  // The tree wins at 4 KiB; at 16 KiB it is faster too, once proven, once not (or vetoed).
  EXPECT_EQ(winner(three_sizes().find(ask(8 * KiB))), "base");
  const auto table = colltune::literals::table(
      {decide(all_reduce(4 * KiB), {{"tree", 2000}, {"ring", 3000}, {"base", 4000, true}}),
       decide(all_reduce(16 * KiB), {{"ring", 7000}, {"tree", 7900}, {"base", 8000, true}})});
  EXPECT_EQ(winner(table.find(ask(5 * KiB))), "tree");
}

/// A decision that fresh launches confirmed.
Decision confirmed(Decision decision, double low) {
  decision.status = DecisionStatus::confirmed;
  decision.confirmation = {.launches = 5, .speedup = low + 0.1, .low = low, .high = low + 0.2};
  return decision;
}
Decision with_verdict(Decision decision, Verdict verdict) {
  decision.verdict = verdict;
  return decision;
}

TEST(Find, AMeasuredAnswerSaysWhatIsConfirmed) {
  const auto of_ring = confirmed(
      with_verdict(decide(all_reduce(1 * KiB), {{"ring", 1000, false, NumericClass::any},
                                                {"tree", 1500, false, NumericClass::same_bits},
                                                {"base", 2000, true, NumericClass::rank_order}}),
                   Verdict::displaced),
      1.7);
  const auto table = colltune::literals::table({of_ring});
  LookupQuery query = ask(1 * KiB);
  EXPECT_EQ(table.find(query).decision.status, DecisionStatus::confirmed);
  EXPECT_EQ(table.find(query).decision.verdict, Verdict::displaced);
  EXPECT_EQ(table.find(query).decision.confirmation, of_ring.confirmation);
  // The winner was confirmed, not who comes next.
  query.problem.numeric_class = NumericClass::same_bits;
  EXPECT_EQ(winner(table.find(query)), "tree");
  EXPECT_EQ(table.find(query).decision.status, DecisionStatus::provisional);
  EXPECT_EQ(table.find(query).decision.verdict, Verdict::displaced);
  EXPECT_EQ(table.find(query).decision.confirmation, Confirmation{});
  query.problem.numeric_class = NumericClass::rank_order;
  EXPECT_EQ(winner(table.find(query)), "base");
  EXPECT_EQ(table.find(query).decision.verdict, Verdict::undecided);
  // Nothing was confirmed at other sizes.
  EXPECT_EQ(table.find(ask(2 * KiB)).source, Source::predicted);
  EXPECT_EQ(table.find(ask(2 * KiB)).decision.status, DecisionStatus::provisional);
  EXPECT_EQ(table.find(ask(2 * KiB)).decision.confirmation, Confirmation{});
  EXPECT_EQ(table.find(ask(2 * KiB)).decision.verdict, Verdict::displaced);
}

TEST(Find, BetweenSizesConfirmedOnlyWhereBothConfirmThisWinner) {
  const auto ring = [](std::uint64_t bytes) {
    return decide(all_reduce(bytes), {{"ring", 1000}, {"tree", 1100}, {"base", 2000, true}});
  };
  const auto tree =
      decide(all_reduce(4 * KiB), {{"tree", 990}, {"ring", 1000}, {"base", 2000, true}});
  const auto between = [&](const Decision& lower, const Decision& upper) {
    return colltune::literals::table({lower, upper}).find(ask(2 * KiB)).decision;
  };
  const Decision both = between(confirmed(ring(1 * KiB), 1.7), confirmed(ring(4 * KiB), 1.5));
  EXPECT_EQ(both.status, DecisionStatus::confirmed);
  EXPECT_EQ(both.verdict, Verdict::displaced);
  EXPECT_EQ(both.confirmation.low, 1.5);  // the weaker
  EXPECT_EQ(between(confirmed(ring(1 * KiB), 1.7), ring(4 * KiB)).status,
            DecisionStatus::provisional);
  EXPECT_EQ(between(ring(1 * KiB), confirmed(ring(4 * KiB), 1.7)).status,
            DecisionStatus::provisional);
  EXPECT_EQ(between(confirmed(ring(1 * KiB), 1.7), confirmed(tree, 1.7)).status,
            DecisionStatus::provisional);
}

TEST(Find, BetweenSizesTheBaselineIsKeptOnlyWhereBothKeepIt) {
  const auto base = [](std::uint64_t bytes, Verdict verdict) {
    return with_verdict(decide(all_reduce(bytes), {{"base", 2000, true}, {"ring", 2100}}), verdict);
  };
  const auto between = [&](Verdict lower, Verdict upper) {
    const auto table = colltune::literals::table({base(1 * KiB, lower), base(4 * KiB, upper)});
    return table.find(ask(2 * KiB)).decision.verdict;
  };
  EXPECT_EQ(between(Verdict::kept, Verdict::kept), Verdict::kept);
  EXPECT_EQ(between(Verdict::kept, Verdict::undecided), Verdict::undecided);
  EXPECT_EQ(between(Verdict::undecided, Verdict::kept), Verdict::undecided);
}

TEST(Find, BetweenSizesOnlyVariantsOfBothThatCanRunThere) {
  const Limits small{.max_message = {1 * KiB}};
  const auto table = colltune::literals::table(
      {decide(all_reduce(1 * KiB),
              {{"tiny", 100, false, NumericClass::any, small}, {"one", 200}, {"base", 2000, true}}),
       decide(all_reduce(4 * KiB), {{"two", 300}, {"base", 4000, true}})});
  const LookupAnswer answer = table.find(ask(2 * KiB));
  EXPECT_EQ(winner(answer), "base");
  EXPECT_EQ(answer.decision.ranked.size(), 1U);
}

TEST(Find, BetweenSizesWithoutBaselineTheFasterWinnerWins) {
  const auto table = colltune::literals::table(
      {decide(all_reduce(1 * KiB), {{"a", 100}, {"b", 200}, {"c", 150}}),
       decide(all_reduce(4 * KiB), {{"b", 300}, {"a", 900}, {"c", 310}})});
  const LookupAnswer answer = table.find(ask(3 * KiB));
  EXPECT_EQ(winner(answer), "b");  // c is faster there, but won nowhere
  EXPECT_EQ(answer.decision.verdict, Verdict::no_baseline);
  EXPECT_EQ(answer.decision.ranked.front().speedup_over_baseline, 0);
}

TEST(Find, BetweenSizesWithoutACommonVariantTheNearestSizeAnswers) {
  const auto table = colltune::literals::table(
      {decide(all_reduce(1 * KiB), {{"a", 100}}), decide(all_reduce(16 * KiB), {{"b", 300}})});
  const LookupAnswer low = table.find(ask(2 * KiB));
  EXPECT_EQ(winner(low), "a");
  EXPECT_EQ(low.source, Source::predicted);
  EXPECT_EQ(low.measured_sizes, std::vector<Bytes>{{1 * KiB}});
  EXPECT_EQ(winner(table.find(ask(8 * KiB))), "b");
}

TEST(Find, BeyondTheSizesIsPredictedNeverMeasured) {
  const auto table = three_sizes();
  const LookupAnswer small = table.find(ask(8));
  EXPECT_EQ(winner(small), "ring");
  EXPECT_EQ(small.source, Source::predicted);
  EXPECT_EQ(small.match, MatchLevel::nearest_size);
  EXPECT_EQ(small.decision.ranked.front().median, nanoseconds(1000));
  const LookupAnswer large = table.find(ask(64 * KiB));
  EXPECT_EQ(winner(large), "base");
  EXPECT_EQ(large.source, Source::predicted);
  EXPECT_EQ(large.measured_sizes, std::vector<Bytes>{{16 * KiB}});
  EXPECT_EQ(large.decision.ranked.front().median, nanoseconds(32000));
}

TEST(Find, BeyondTheSizesLimitsHold) {
  const Limits small{.max_message = {4 * KiB}};
  const auto table = colltune::literals::table(
      {decide(all_reduce(4 * KiB),
              {{"tiny", 100, false, NumericClass::any, small}, {"base", 2000, true}})});
  EXPECT_EQ(winner(table.find(ask(4 * KiB))), "tiny");
  const LookupAnswer answer = table.find(ask(8 * KiB));
  EXPECT_EQ(winner(answer), "base");
  EXPECT_THAT(answer.decision.reason, HasSubstr("takes at most 4KiB"));
}

TEST(Find, NoVariantThatCanRunIsNotFoundWithReasons) {
  const Limits small{.max_message = {4 * KiB}};
  const auto table = colltune::literals::table(
      {decide(all_reduce(4 * KiB), {{"tiny{a=1}", 100, false, NumericClass::any, small}})});
  EXPECT_THAT(not_found(table, ask(8 * KiB)),
              AllOf(HasSubstr("tiny{a=1}"), HasSubstr("takes at most 4KiB")));
}

TEST(Find, DemandedNumericClassFilters) {
  const auto table = colltune::literals::table(
      {decide(all_reduce(1 * KiB), {{"any", 100},
                                    {"base", 2000, true, NumericClass::same_bits},
                                    {"close", 1995, false, NumericClass::rank_order},
                                    {"slow", 3000, false, NumericClass::rank_order}})});
  LookupQuery query = ask(1 * KiB);
  EXPECT_EQ(winner(table.find(query)), "any");
  query.problem.numeric_class = NumericClass::same_bits;
  const LookupAnswer answer = table.find(query);
  EXPECT_EQ(winner(answer), "base");  // "close" is not proven to beat it
  EXPECT_EQ(answer.decision.ranked.size(), 3U);
  EXPECT_EQ(answer.decision.key.problem.numeric_class, NumericClass::same_bits);
  query.problem.numeric_class = NumericClass::rank_order;
  EXPECT_EQ(winner(table.find(query)), "close");
}

TEST(Find, ABroadcastIsFoundWhicheverFormIsAskedFor) {
  Problem broadcast = all_reduce(1 * KiB);
  broadcast.collective = Collective::broadcast;
  broadcast.reduce_op = ReduceOp::none;
  broadcast.in_place = true;
  const auto table = colltune::literals::table({decide(broadcast, {{"flat", 100}})});
  LookupQuery query{.problem = broadcast};
  EXPECT_EQ(winner(table.find(query)), "flat");
  query.problem.in_place = false;
  EXPECT_EQ(winner(table.find(query)), "flat");
}

TEST(Find, StrictestStoredClassThatFitsIsPreferred) {
  Problem strict = all_reduce(1 * KiB);
  strict.numeric_class = NumericClass::same_bits;
  const auto table = colltune::literals::table(
      {decide(all_reduce(1 * KiB), {{"loose", 100, false, NumericClass::same_bits}}),
       decide(strict, {{"strict", 200, false, NumericClass::same_bits}})});
  EXPECT_EQ(winner(table.find(ask(1 * KiB))), "loose");
  EXPECT_EQ(winner(table.find({.problem = strict})), "strict");
}

TEST(Find, ExactMatchDemandedBetweenSizesIsNotFound) {
  LookupQuery query = ask(2 * KiB);
  query.at_least = MatchLevel::exact;
  EXPECT_THAT(not_found(three_sizes(), query), HasSubstr("1KiB..16KiB (3 sizes)"));
  query.problem.message_size = {1 * KiB};
  EXPECT_EQ(winner(three_sizes().find(query)), "ring");
}

TEST(Find, UnknownProblemListsWhatIsThere) {
  LookupQuery query = ask(1 * KiB);
  query.problem.in_place = true;
  EXPECT_THAT(not_found(three_sizes(), query),
              AllOf(HasSubstr("in place"), HasSubstr("the closest differs in in place"),
                    HasSubstr("all_reduce f32 sum out of place, 1KiB..16KiB (3 sizes)"),
                    HasSubstr("1x2 x86_64")));
  query = ask(1 * KiB);
  query.problem.data_type = DataType::f64;
  EXPECT_THAT(not_found(three_sizes(), query), HasSubstr("differs in data type"));
  query = ask(1 * KiB);
  query.family = "nccl";
  EXPECT_THAT(not_found(three_sizes(), query), HasSubstr("differs in family"));
  EXPECT_THAT(not_found(table({}), ask(1)), HasSubstr("the table is empty"));
}

TEST(Find, LongListsAreCut) {
  std::vector<Decision> decisions;
  for (int ranks = 2; ranks < 40; ++ranks)
    decisions.push_back(decide(all_reduce(8), {{"base", 10, true}}, world(1, ranks)));
  LookupQuery query = ask(8);
  query.nodes = 3;
  EXPECT_THAT(not_found(table(std::move(decisions)), query), HasSubstr("and 30 more"));
}

TEST(Find, FamilyHasItsOwnDecision) {
  const auto table = colltune::literals::table(
      {decide(all_reduce(8), {{"mine", 10}}),
       decide(all_reduce(8), {{"theirs", 20}}, world(), "e1", "openmpi")});
  LookupQuery query = ask(8);
  EXPECT_EQ(winner(table.find(query)), "mine");
  query.family = "openmpi";
  EXPECT_EQ(winner(table.find(query)), "theirs");
}

TEST(Find, SeveralWorldsAreAnErrorThatListsThem) {
  const auto table =
      colltune::literals::table({decide(all_reduce(8), {{"a", 10}}, world(1, 2, "avx2")),
                                 decide(all_reduce(8), {{"b", 10}}, world(1, 2, "avx512")),
                                 decide(all_reduce(8), {{"c", 10}}, world(2, 2, "avx512"))});
  LookupQuery query = ask(8);
  EXPECT_THAT(
      refused(table, query),
      AllOf(HasSubstr("nodes (--nodes)"), HasSubstr("architecture (--arch)"),
            Not(HasSubstr("--ranks-per-node")), HasSubstr("1x2 avx2"), HasSubstr("2x2 avx512")));
  query.nodes = 2;
  EXPECT_EQ(winner(table.find(query)), "c");
  query.nodes = 1;
  EXPECT_THAT(refused(table, query), AllOf(HasSubstr("--arch"), Not(HasSubstr("--nodes"))));
  query.architecture = "avx2";
  EXPECT_EQ(winner(table.find(query)), "a");
}

TEST(Find, LayoutAndInterconnectTellWorldsApart) {
  Topology uneven = world();
  uneven.layout_digest = "abcdef";
  Topology tcp = world();
  tcp.interconnect = "tcp";
  const auto table = colltune::literals::table({decide(all_reduce(8), {{"even", 10}}),
                                                decide(all_reduce(8), {{"uneven", 10}}, uneven),
                                                decide(all_reduce(8), {{"tcp", 10}}, tcp)});
  LookupQuery query = ask(8);
  EXPECT_THAT(refused(table, query), AllOf(HasSubstr("--layout"), HasSubstr("--interconnect")));
  query.layout_digest = "abcdef";
  EXPECT_EQ(winner(table.find(query)), "uneven");
  query = ask(8);
  query.interconnect = "tcp";
  EXPECT_EQ(winner(table.find(query)), "tcp");
}

TEST(Find, OversubscribedNeverAnswersForDedicated) {
  Topology crowded = world();
  crowded.placement = Placement::oversubscribed;
  const auto table = colltune::literals::table({decide(all_reduce(8), {{"crowded", 10}}, crowded)});
  LookupQuery query = ask(8);
  EXPECT_THAT(not_found(table, query),
              AllOf(HasSubstr("differs in placement"), HasSubstr("oversubscribed")));
  query.placement = Placement::oversubscribed;
  EXPECT_EQ(winner(table.find(query)), "crowded");
}

DecisionTable two_environments() {
  Environment old;
  old.mpi_library = "Open MPI 4.1.4";
  old.cpu_model = "same";
  Environment recent = old;
  recent.mpi_library = "Open MPI 5.0.1";
  return table({decide(all_reduce(8), {{"old", 10}}, world(), "e-old"),
                decide(all_reduce(8), {{"recent", 10}}, world(), "e-recent")},
               {{"e-old", old}, {"e-recent", recent}});
}

TEST(Find, SeveralEnvironmentsAreListedWithTheirDifferences) {
  EXPECT_THAT(refused(two_environments(), ask(8)),
              AllOf(HasSubstr("environment e-old; mpi_library 'Open MPI 4.1.4'"),
                    HasSubstr("environment e-recent; mpi_library 'Open MPI 5.0.1'"),
                    Not(HasSubstr("cpu_model"))));
}

TEST(Find, NamedEnvironmentAnswersExactly) {
  LookupQuery query = ask(8);
  query.environment_digest = "e-recent";
  const LookupAnswer answer = two_environments().find(query);
  EXPECT_EQ(winner(answer), "recent");
  EXPECT_EQ(answer.match, MatchLevel::exact);
}

TEST(Find, UnknownEnvironmentFallsBackOnlyWhereAllowedAndClear) {
  LookupQuery query = ask(1 * KiB);
  query.environment_digest = "e2";
  const LookupAnswer answer = three_sizes().find(query);
  EXPECT_EQ(answer.match, MatchLevel::any_environment);
  EXPECT_EQ(answer.decision.key.environment_digest, "e1");
  query.at_least = MatchLevel::nearest_size;
  EXPECT_THAT(not_found(three_sizes(), query), HasSubstr("differs in environment"));
  query.at_least = MatchLevel::any_environment;
  query.problem.message_size = {8};
  EXPECT_THAT(refused(two_environments(), query), HasSubstr("--environment"));
}

TEST(Find, OtherGenerationIsNotFound) {
  LookupQuery query = ask(1 * KiB);
  query.generation = 1;
  EXPECT_EQ(winner(three_sizes().find(query)), "ring");
  query.generation = 7;
  EXPECT_THAT(not_found(three_sizes(), query),
              AllOf(HasSubstr("generation 7"), HasSubstr("generation 1")));
}

TEST(Find, MalformedQueriesAreRefused) {
  LookupQuery query = ask(8);
  query.nodes = 0;
  EXPECT_THAT(refused(three_sizes(), query), HasSubstr("nodes"));
  query = ask(8);
  query.ranks_per_node = -1;
  EXPECT_THAT(refused(three_sizes(), query), HasSubstr("ranks per node"));
  query = ask(8);
  query.problem.reduce_op = ReduceOp::none;
  EXPECT_THAT(refused(three_sizes(), query), HasSubstr("needs a reduce op"));
}

TEST(Table, RefusesTwoDecisionsForOneKeyAndEmptyRankings) {
  const auto build = [](std::vector<Decision> decisions) {
    return error_of_action(StatusCode::invalid_argument,
                           [&] { (void)table(std::move(decisions)); });
  };
  const Decision one = decide(all_reduce(8), {{"a", 10}});
  EXPECT_THAT(build({one, one}), HasSubstr("two decisions for all_reduce f32 sum 8"));
  EXPECT_THAT(build({decide(all_reduce(8), {})}), HasSubstr("ranks no variant"));
}

// So many that an index which compares each world with all others takes minutes.
TEST(Table, HoldsManyWorldsOfOneProblem) {
  constexpr int worlds = 40'000;
  std::vector<Decision> decisions;
  for (int nodes = 1; nodes <= worlds / 2; ++nodes)
    for (const char* environment : {"e1", "e2"})
      decisions.push_back(decide(all_reduce(8), {{nodes % 2 == 0 ? "even" : "odd", 10}},
                                 world(nodes, 2), environment));
  const auto many = table(std::move(decisions));
  LookupQuery query = ask(8);
  query.environment_digest = "e2";
  for (const int nodes : {1, 2, worlds / 2}) {
    query.nodes = nodes;
    EXPECT_EQ(winner(many.find(query)), nodes % 2 == 0 ? "even" : "odd");
  }
  query.nodes = {};
  EXPECT_THAT(refused(many, query), HasSubstr("worlds")) << "all of them fit";
}

TEST(Table, DecisionsAreOrderedByKey) {
  const auto unsorted =
      table({decide(all_reduce(64), {{"a", 10}}), decide(all_reduce(8), {{"a", 10}})});
  EXPECT_LT(unsorted.set().decisions[0].key, unsorted.set().decisions[1].key);
  EXPECT_EQ(unsorted.find(ask(8)).source, Source::measured);
}

}  // namespace
}  // namespace colltune
