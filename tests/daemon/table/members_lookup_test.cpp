// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Questions that say what their members can do, and tables of worlds of unlike ranks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "colltune/table/decision_table.h"
#include "colltune/vocabulary/canonical.h"
#include "literals.h"

namespace colltune {
namespace {

using namespace literals;
using ::testing::HasSubstr;
using ::testing::Not;

using Features = std::vector<std::string>;

/// Two ranks of one architecture; the kinds in their one form.
Members two_ranks(const Features& first, const Features& second, std::string architecture = "sm") {
  MemberKind a{architecture, first};
  MemberKind b{architecture, second};
  if (a == b) return {.kinds = {a}, .kind_of_rank = {0, 0}};
  const bool is_in_order = a < b;
  if (!is_in_order) std::swap(a, b);
  return {.kinds = {a, b},
          .kind_of_rank = is_in_order ? std::vector{0, 1} : std::vector<int>{1, 0}};
}

/// A world of two ranks, told from others by its layout.
Topology layout(std::string digest) {
  Topology topology = world();
  topology.layout_digest = std::move(digest);
  return topology;
}

Composition composition(const Members& members) {
  Composition made{.mode = CompositionMode::substituted, .parts = {}};
  for (const MemberKind& kind : members.kinds)
    made.parts.push_back({.role = PartRole::whole,
                          .kinds = {digest_of_value(kind)},
                          .variant = parse_variant("ring{of=" + kind.architecture + "}")});
  return made;
}

std::string composed(const Members& members) {
  return "substituted.ring{parts=" + parts_name(composition(members)) + "}";
}

/// What one sweep measured in one world, with what it noted of its members.
struct Measured {
  std::string sweep;
  Topology topology;
  std::optional<Members> members;
  std::vector<Entry> entries;
  std::uint64_t bytes = KiB;
  std::string environment = "e1";
};

DecisionTable table_of(const std::vector<Measured>& sweeps) {
  std::vector<Decision> decisions;
  std::vector<WorldMembers> members;
  std::vector<Composition> compositions;
  for (const Measured& sweep : sweeps) {
    decisions.push_back(
        decide(all_reduce(sweep.bytes), sweep.entries, sweep.topology, sweep.environment));
    decisions.back().sweep_uuid = sweep.sweep;
    if (!sweep.members) continue;
    members.push_back({sweep.sweep, digest_of_value(sweep.topology), *sweep.members});
    compositions.push_back(composition(*sweep.members));
  }
  return DecisionTable(
      {generation(1), std::move(decisions), {}, std::move(members), std::move(compositions)});
}

LookupQuery ask(const std::optional<Members>& members, std::uint64_t bytes = KiB) {
  return {.problem = all_reduce(bytes), .members = members};
}

const Members none = two_ranks({}, {});
const Members first_has_a = two_ranks({"a"}, {});
const Members both_have_a = two_ranks({"a"}, {"a"});
const Members have_a_and_b = two_ranks({"a", "b"}, {"a", "b"});

std::vector<Entry> composed_first(const Members& members) {
  return {{composed(members), 10}, {"plain", 15}, {"base", 20, true}};
}

// ---- without members --------------------------------------------------------------------------

TEST(WithoutMembers, VariantsThatNameACompositionAreLeftOut) {
  const auto table = table_of({{"s1", world(), first_has_a, composed_first(first_has_a)}});
  const LookupAnswer answer = table.find(ask({}));
  EXPECT_EQ(winner(answer), "plain");
  EXPECT_EQ(answer.decision.ranked.size(), 2U);
  EXPECT_EQ(answer.members, MembersMatch::not_asked);
  EXPECT_TRUE(answer.compositions.empty());
  EXPECT_THAT(answer.decision.reason, HasSubstr(composed(first_has_a) + " does not apply"));
  EXPECT_THAT(answer.decision.reason, HasSubstr("unlike ranks"));
}

TEST(WithoutMembers, BetweenSizesAndBeyondThemToo) {
  const auto table = table_of({{"s1", world(), first_has_a, composed_first(first_has_a), KiB},
                               {"s1", world(), first_has_a, composed_first(first_has_a), 4 * KiB}});
  for (const std::uint64_t bytes : {2 * KiB, 64 * KiB}) {
    const LookupAnswer answer = table.find(ask({}, bytes));
    EXPECT_EQ(winner(answer), "plain") << bytes;
    EXPECT_THAT(answer.decision.reason, HasSubstr("unlike ranks")) << bytes;
    for (const RankedVariant& ranked : answer.decision.ranked)
      EXPECT_TRUE(parts_named_by(ranked.variant).empty()) << bytes;
  }
}

TEST(WithoutMembers, NothingButCompositionsIsNotFound) {
  const auto table = table_of({{"s1", world(), first_has_a, {{composed(first_has_a), 10}}}});
  EXPECT_THAT(error_of_action(StatusCode::not_found, [&] { (void)table.find(ask({})); }),
              HasSubstr("only for a question whose members can do just the same"));
}

TEST(WithoutMembers, MembersOfTheMeasuredOnesDoNotMatter) {
  const auto table =
      table_of({{"s1", world(), none, {{"x", 10}, {"base", 20, true}}, KiB},
                {"s2", world(), both_have_a, {{"x", 10}, {"base", 20, true}}, 4 * KiB}});
  const LookupAnswer answer = table.find(ask({}, 2 * KiB));
  EXPECT_EQ(answer.source, Source::interpolated);
  EXPECT_EQ(winner(answer), "x");
}

// ---- same -------------------------------------------------------------------------------------

TEST(SameMembers, GetTheComposedVariantWithItsComposition) {
  const auto table = table_of({{"s1", layout("1"), first_has_a, composed_first(first_has_a)},
                               {"s2", layout("2"), none, {{"plain", 5}}}});
  const LookupAnswer answer = table.find(ask(first_has_a));
  EXPECT_EQ(winner(answer), composed(first_has_a));
  EXPECT_EQ(answer.members, MembersMatch::same);
  EXPECT_EQ(answer.compositions, std::vector{composition(first_has_a)});
  EXPECT_EQ(answer.decision.reason, "measured");
  EXPECT_EQ(answer.source, Source::measured);
}

TEST(SameMembers, AreTheSameRankByRank) {
  const auto table = table_of({{"s1", world(), first_has_a, composed_first(first_has_a)}});
  const LookupAnswer answer = table.find(ask(two_ranks({}, {"a"})));
  EXPECT_NE(answer.members, MembersMatch::same);
  EXPECT_EQ(winner(answer), "base");
}

TEST(SameMembers, InSeveralWorldsAreAmbiguousAsEver) {
  const std::vector<Entry> entries{{"x", 10}, {"base", 20, true}};
  const auto table =
      table_of({{"s1", layout("1"), none, entries}, {"s2", layout("2"), none, entries}});
  EXPECT_THAT(error_of_action(StatusCode::invalid_argument, [&] { (void)table.find(ask(none)); }),
              HasSubstr("layout digest (--layout)"));
  LookupQuery query = ask(none);
  query.layout_digest = "2";
  EXPECT_EQ(table.find(query).decision.sweep_uuid, "s2");
}

TEST(SameMembers, OfOneWorldMeasuredTwiceAreKeptApart) {
  const std::vector<Entry> entries{{"x", 10}, {"base", 20, true}};
  const auto table = table_of({{"s1", world(), none, entries, KiB},
                               {"s2", world(), both_have_a, entries, 4 * KiB},
                               {"s1", world(), none, entries, 16 * KiB}});
  const LookupAnswer answer = table.find(ask(none, 4 * KiB));
  EXPECT_EQ(answer.members, MembersMatch::same);
  EXPECT_EQ(answer.source, Source::interpolated);
  EXPECT_EQ(answer.decision.sweep_uuid, "s1");
  EXPECT_EQ(table.find(ask(both_have_a, 4 * KiB)).decision.sweep_uuid, "s2");
  EXPECT_EQ(table.find(ask({}, 4 * KiB)).source, Source::measured);
}

TEST(SameMembers, WithoutTheCompositionInTheTableIsDataLoss) {
  std::vector<Decision> decisions{decide(all_reduce(KiB), composed_first(first_has_a))};
  const DecisionTable table({.generation = generation(1),
                             .decisions = std::move(decisions),
                             .members = {{"s1", digest_of_value(world()), first_has_a}}});
  EXPECT_THAT(error_of_action(StatusCode::data_loss, [&] { (void)table.find(ask(first_has_a)); }),
              HasSubstr(composed(first_has_a)));
}

TEST(SameMembers, ObeyTheOtherRules) {
  const auto table =
      table_of({{"s1", world(), none, {{"x", 10, false, NumericClass::any}, {"base", 20, true}}}});
  LookupQuery query = ask(none);
  query.problem.numeric_class = NumericClass::rank_order;
  EXPECT_THAT(error_of_action(StatusCode::not_found, [&] { (void)table.find(query); }),
              HasSubstr("guarantees numeric class any only"));
  query = ask(none, 2 * KiB);
  EXPECT_EQ(table.find(query).source, Source::predicted);
  query.at_least = MatchLevel::exact;
  EXPECT_THAT(error_of_action(StatusCode::not_found, [&] { (void)table.find(query); }),
              HasSubstr("was not measured"));
  query = ask(none);
  query.environment_digest = "e2";
  EXPECT_EQ(table.find(query).match, MatchLevel::any_environment);
  query.at_least = MatchLevel::exact;
  EXPECT_THAT(error_of_action(StatusCode::not_found, [&] { (void)table.find(query); }),
              HasSubstr("environment"));
}

// ---- less -------------------------------------------------------------------------------------

TEST(LesserMembers, AnswerWithANoteAndWithoutCompositions) {
  const auto table = table_of({{"s1", world(), first_has_a, composed_first(first_has_a)}});
  const LookupAnswer answer = table.find(ask(both_have_a));
  EXPECT_EQ(answer.members, MembersMatch::less);
  EXPECT_EQ(winner(answer), "plain");
  EXPECT_TRUE(answer.compositions.empty());
  EXPECT_EQ(answer.source, Source::measured);
  EXPECT_THAT(answer.decision.reason, HasSubstr("can do less: there rank 1 lacks a"));
}

TEST(LesserMembers, ThatCanDoTheMostAnswer) {
  const std::vector<Entry> entries{{"x", 10}, {"base", 20, true}};
  const std::vector<Measured> sweeps{{"s1", layout("1"), none, entries},
                                     {"s2", layout("2"), both_have_a, entries},
                                     {"s3", layout("3"), first_has_a, entries}};
  for (const auto& order : {std::vector{0, 1, 2}, std::vector{2, 1, 0}, std::vector{1, 0, 2}}) {
    std::vector<Measured> shuffled;
    for (const int index : order) shuffled.push_back(sweeps[static_cast<std::size_t>(index)]);
    EXPECT_EQ(table_of(shuffled).find(ask(have_a_and_b)).decision.sweep_uuid, "s2");
  }
}

TEST(LesserMembers, ThatCannotBeComparedAreTakenInTheOrderOfKeys) {
  const std::vector<Entry> entries{{"x", 10}, {"base", 20, true}};
  const Members only_a = two_ranks({"a"}, {"a"});
  const Members only_b = two_ranks({"b"}, {"b"});
  const auto one =
      table_of({{"s1", layout("1"), only_a, entries}, {"s2", layout("2"), only_b, entries}});
  const auto other =
      table_of({{"s2", layout("2"), only_b, entries}, {"s1", layout("1"), only_a, entries}});
  EXPECT_EQ(one.find(ask(have_a_and_b)).decision.sweep_uuid, "s1");
  EXPECT_EQ(other.find(ask(have_a_and_b)).decision.sweep_uuid, "s1");
}

TEST(LesserMembers, NeverAnswerWhereTheQuestionNamesAnotherWorld) {
  const auto table = table_of({{"s1", layout("1"), none, {{"x", 10}, {"base", 20, true}}}});
  LookupQuery query = ask(both_have_a);
  query.layout_digest = "2";
  EXPECT_THAT(error_of_action(StatusCode::not_found, [&] { (void)table.find(query); }),
              HasSubstr("layout digest"));
}

TEST(LesserMembers, OfAnotherKindOfProcessorThatCanDoAsMuch) {
  const auto table = table_of(
      {{"s1", world(), two_ranks({"a"}, {"a"}, "x86_64-avx2"), {{"x", 10}, {"base", 20, true}}}});
  const LookupAnswer answer = table.find(ask(two_ranks({"a"}, {"a"}, "x86_64-avx512")));
  EXPECT_EQ(answer.members, MembersMatch::less);
  EXPECT_THAT(answer.decision.reason, HasSubstr("of other kinds that can do as much"));
}

// ---- nothing that may answer --------------------------------------------------------------------

TEST(UnknownMembers, GetTheBaselineAlone) {
  const auto table = table_of({{"s1", world(), both_have_a, {{"x", 10}, {"base", 20, true}}}});
  const LookupAnswer answer = table.find(ask(first_has_a, 2 * KiB));
  ASSERT_EQ(answer.decision.ranked.size(), 1U);
  EXPECT_EQ(winner(answer), "base");
  EXPECT_EQ(answer.source, Source::baseline);
  EXPECT_EQ(answer.members, MembersMatch::unknown);
  EXPECT_EQ(answer.match, MatchLevel::nearest_size);
  EXPECT_EQ(answer.decision.verdict, Verdict::undecided);
  EXPECT_EQ(answer.decision.status, DecisionStatus::provisional);
  EXPECT_EQ(answer.decision.key.problem.message_size.value, 2 * KiB);
  EXPECT_EQ(answer.generation, generation(1));
  EXPECT_THAT(answer.decision.reason, HasSubstr("rank 1 lacks a"));
  // Nothing of it was measured for these members.
  EXPECT_TRUE(answer.measured_sizes.empty());
  EXPECT_EQ(answer.decision.ranked.front().samples, 0U);
  EXPECT_EQ(answer.decision.ranked.front().median.count(), 0);
}

TEST(UnknownMembers, AWorldWithoutStoredMembersIsOnlyGoodForItsBaseline) {
  const auto table = table_of({{"s1", world(), {}, {{"x", 10}, {"base", 20, true}}}});
  const LookupAnswer answer = table.find(ask(have_a_and_b));
  EXPECT_EQ(winner(answer), "base");
  EXPECT_EQ(answer.source, Source::baseline);
  EXPECT_THAT(answer.decision.reason, HasSubstr("is not stored"));
  // Beside one that may answer it does not count.
  const auto both = table_of({{"s1", layout("1"), {}, {{"x", 10}, {"base", 20, true}}},
                              {"s2", layout("2"), none, {{"y", 10}, {"base", 20, true}}}});
  EXPECT_EQ(winner(both.find(ask(have_a_and_b))), "y");
}

TEST(UnknownMembers, TheClosestWorldIsNamed) {
  const std::vector<Entry> entries{{"x", 10}, {"base", 20, true}};
  const auto table = table_of({{"s1", layout("1"), have_a_and_b, entries},
                               {"s2", layout("2"), first_has_a, entries},
                               {"s3", layout("3"), {}, entries}});
  const LookupAnswer answer = table.find(ask(none));
  EXPECT_EQ(answer.decision.key.topology.layout_digest, "2");
  EXPECT_THAT(answer.decision.reason, HasSubstr("rank 0 lacks a"));
}

TEST(UnknownMembers, WithoutACommonBaselineNothingIsFound) {
  const auto table = table_of({{"s1", layout("1"), both_have_a, {{"x", 10}, {"base", 20, true}}},
                               {"s2", layout("2"), have_a_and_b, {{"x", 10}, {"mine", 20, true}}}});
  const std::string message =
      error_of_action(StatusCode::not_found, [&] { (void)table.find(ask(none)); });
  EXPECT_THAT(message, HasSubstr("no baseline in common"));
  EXPECT_THAT(message, HasSubstr("rank 0 lacks a"));

  const auto without = table_of({{"s1", world(), both_have_a, {{"x", 10}}}});
  EXPECT_THAT(error_of_action(StatusCode::not_found, [&] { (void)without.find(ask(none)); }),
              HasSubstr("no baseline in common"));
}

TEST(UnknownMembers, ABaselineThatCannotRunTheProblemIsNoAnswer) {
  const auto table = table_of(
      {{"s1", world(), both_have_a, {{"base", 20, true, NumericClass::any, {.max_ranks = 1}}}}});
  EXPECT_THAT(error_of_action(StatusCode::not_found, [&] { (void)table.find(ask(none)); }),
              HasSubstr("can run it"));
}

TEST(UnknownMembers, AreNoExactMatch) {
  const auto table = table_of({{"s1", world(), both_have_a, {{"x", 10}, {"base", 20, true}}}});
  LookupQuery query = ask(none);
  query.at_least = MatchLevel::exact;
  EXPECT_THAT(error_of_action(StatusCode::not_found, [&] { (void)table.find(query); }),
              HasSubstr("only an exact match"));
}

TEST(UnknownMembers, AnOverlongFeatureDoesNotOverflowTheReason) {
  const Members overlong = two_ranks({std::string(4096, 'f')}, {});
  const auto table = table_of({{"s1", world(), overlong, {{"x", 10}, {"base", 20, true}}}});
  EXPECT_LT(table.find(ask(none)).decision.reason.size(), 1000U);
  const auto lesser = table_of({{"s1", world(), none, {{"x", 10}, {"base", 20, true}}}});
  EXPECT_LT(lesser.find(ask(overlong)).decision.reason.size(), 1000U);
}

// ---- the question -------------------------------------------------------------------------------

TEST(AskingMembers, AreChecked) {
  const auto table = table_of({{"s1", world(), none, {{"x", 10}}}});
  Members malformed = first_has_a;
  std::swap(malformed.kinds[0], malformed.kinds[1]);
  EXPECT_THAT(
      error_of_action(StatusCode::invalid_argument, [&] { (void)table.find(ask(malformed)); }),
      HasSubstr("members: "));
}

TEST(AskingMembers, MustFitTheWorldAskedFor) {
  const auto table = table_of({{"s1", world(), none, {{"x", 10}}}});
  const auto message = [&](std::optional<int> nodes, std::optional<int> per_node) {
    LookupQuery query = ask(none);
    query.nodes = nodes;
    query.ranks_per_node = per_node;
    return error_of_action(StatusCode::invalid_argument, [&] { (void)table.find(query); });
  };
  EXPECT_EQ(message(1, 2), "nothing was thrown");
  EXPECT_EQ(message({}, 2), "nothing was thrown");
  EXPECT_THAT(message(1, 1), HasSubstr("at least 1 and at most 1"));
  EXPECT_THAT(message(3, {}), HasSubstr("there are 2 ranks"));
  EXPECT_THAT(message(2, 2), HasSubstr("at least 3 and at most 4"));
}

TEST(AskingMembers, OfAnotherNumberThanMeasuredFindNothing) {
  const auto table = table_of({{"s1", world(1, 4), {}, {{"x", 10}, {"base", 20, true}}}});
  const std::string message =
      error_of_action(StatusCode::not_found, [&] { (void)table.find(ask(none)); });
  EXPECT_THAT(message, HasSubstr("number of members"));
  EXPECT_THAT(message, Not(HasSubstr("baseline")));
}

}  // namespace
}  // namespace colltune
