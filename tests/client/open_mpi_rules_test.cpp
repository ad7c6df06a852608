// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "colltune/export/export_open_mpi.h"
#include "literal_decisions.h"

namespace colltune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr OpenMpiRelease v4_1 = OpenMpiRelease::v4_1;
constexpr int allreduce = 2;
constexpr int scatter = 15;

Environment environment() {
  Environment with = testing::test_environment();
  with.mpi_library = "Open MPI v4.1.4";
  return with;
}

RankedVariant ranked(const std::string& text, int median_ns) {
  RankedVariant one = testing::ranked(text, median_ns, 1);
  one.family = "mpi";
  one.is_baseline = text.find('{') == std::string::npos;
  return one;
}

Decision decision(std::uint64_t bytes, std::vector<RankedVariant> variants, int ranks = 2) {
  Decision made = testing::decision(testing::test_key(bytes), std::move(variants), "mpi");
  made.key.environment_digest = digest_of(environment());
  made.key.topology.ranks = made.key.topology.ranks_per_node = ranks;
  return made;
}

const RankedVariant baseline = ranked("mpi.all_reduce", 1000);

RankedVariant tuned(const std::string& settings, int median_ns) {
  return ranked("mpi.all_reduce_tuned{" + settings + "}", median_ns);
}

OpenMpiExport exported(std::vector<Decision> decisions, OpenMpiRelease release = v4_1,
                       const Environment& with = environment()) {
  return export_open_mpi({.generation = {.store_uuid = "s", .number = 3, .content_digest = "d"},
                          .decisions = std::move(decisions),
                          .environments = {{digest_of(environment()), with}}},
                         release);
}

/// The number of the algorithm that is used; 0: the default.
int used(const OpenMpiRules& rules, int ranks, std::uint64_t bytes, int collective = allreduce) {
  const OpenMpiRule* const rule = open_mpi_rule_for(rules, collective, ranks, bytes);
  return rule == nullptr ? 0 : rule->algorithm;
}

// ---- From decisions to rules

TEST(ExportOpenMpi, NamesWhatBeatTheDefaultAndTheDefaultElsewhere) {
  const auto made = exported({decision(64, {baseline, tuned("algorithm=ring", 2000)}),
                              decision(4096, {tuned("algorithm=ring", 500), baseline}),
                              decision(65536, {tuned("algorithm=segmented_ring,segment_size=65536", 500),
                                               baseline})});
  EXPECT_EQ(made.keys, 3);
  EXPECT_EQ(made.changed, 2);
  EXPECT_EQ(used(made.rules, 2, 64), 0);
  EXPECT_EQ(used(made.rules, 2, 543), 0);  // half-way, and up to a gain of 2 %
  EXPECT_EQ(used(made.rules, 2, 544), 4);
  EXPECT_EQ(used(made.rules, 2, 16384), 4);  // neither was measured at both: the geometric mean
  EXPECT_EQ(used(made.rules, 2, 16385), 5);
  EXPECT_EQ(open_mpi_rule_for(made.rules, allreduce, 2, 65536)->segment_size, 65536);
  // Beyond what was measured the default stays: in size, and in ranks on both sides.
  EXPECT_EQ(used(made.rules, 2, 65537), 0);
  EXPECT_EQ(used(made.rules, 1, 4096), 0);
  EXPECT_EQ(used(made.rules, 3, 4096), 0);
}

TEST(ExportOpenMpi, LeavesOutACollectiveWhoseRulesWouldCostMoreThanTheyGain) {
  // Three short calls in which the default stays pay 15 ns each.
  const auto made_with = [](int ring) {
    const RankedVariant short_call = ranked("mpi.all_reduce", 300);
    return exported({decision(64, {short_call}), decision(128, {short_call}),
                     decision(256, {short_call}),
                     decision(65536, {tuned("algorithm=ring", ring), ranked("mpi.all_reduce", 20'000)})});
  };
  const auto costly = made_with(18'000);
  EXPECT_THAT(costly.rules, IsEmpty());
  EXPECT_EQ(costly.changed, 0);
  EXPECT_EQ(costly.not_worth_it, 1);
  EXPECT_EQ(costly.keys, 4);
  const auto worth_it = made_with(10'000);
  EXPECT_EQ(used(worth_it.rules, 2, 65536), 4);
  EXPECT_EQ(worth_it.changed, 1);
  EXPECT_EQ(worth_it.not_worth_it, 0);

  const auto default_alone = exported({decision(64, {baseline, tuned("algorithm=ring", 2000)})});
  EXPECT_THAT(default_alone.rules, IsEmpty());
  EXPECT_EQ(default_alone.not_worth_it, 0);
}

TEST(ExportOpenMpi, KeepsWhatItSaysWhenItIsReadBack) {
  for (const auto release : {OpenMpiRelease::v4_1, OpenMpiRelease::v5_0}) {
    Environment with = environment();
    if (release == OpenMpiRelease::v5_0) with.mpi_library = "Open MPI v5.0.8";
    const auto made = exported({decision(4096, {tuned("algorithm=ring", 500), baseline}),
                                decision(4096, {tuned("algorithm=rabenseifner", 500), baseline}, 8)},
                               release, with);
    const std::string text = print_open_mpi_rules(made.rules, release, made.comment);
    EXPECT_EQ(text.starts_with("rule-file-version-2\n"), release == OpenMpiRelease::v5_0);
    EXPECT_THAT(text, HasSubstr(", generation 3 (d), environment " + digest_of(environment())));
    EXPECT_THAT(text, HasSubstr("calling=each, input=rewritten"));
    const auto checked = check_open_mpi_rules(text, release);
    ASSERT_TRUE(checked.rules) << checked.why_dropped;
    EXPECT_EQ(*checked.rules, made.rules);
    EXPECT_THAT(checked.failing, IsEmpty());
    EXPECT_THAT(checked.remarks, IsEmpty());
    EXPECT_EQ(used(*checked.rules, 2, 4096), 4);
    EXPECT_EQ(used(*checked.rules, 5, 4096), 0);
    EXPECT_EQ(used(*checked.rules, 8, 4096), 6);
    EXPECT_EQ(used(*checked.rules, 9, 4096), 0);
  }
}

TEST(ExportOpenMpi, ReleasesThatDropTheSecondFormatGetTheFirst) {
  for (const auto& [library, is_second] :
       {std::pair("Open MPI v5.0.6", false), std::pair("Open MPI v5.0.7", true),
        std::pair("Open MPI v5.0.10rc1", true)}) {
    Environment with = environment();
    with.mpi_library = library;
    const auto made = exported({decision(4096, {tuned("algorithm=ring", 500), baseline})},
                               OpenMpiRelease::v5_0, with);
    const std::string text = print_open_mpi_rules(made.rules, OpenMpiRelease::v5_0, made.comment);
    EXPECT_EQ(text.starts_with("rule-file-version-2\n"), is_second) << library;
    const auto checked = check_open_mpi_rules(text, OpenMpiRelease::v5_0);
    ASSERT_TRUE(checked.rules) << checked.why_dropped;
    EXPECT_EQ(used(*checked.rules, 2, 4096), 4);
    // The first format is what older readers read, too.
    EXPECT_EQ(check_open_mpi_rules(text, v4_1).rules.has_value(), !is_second);
  }
}

TEST(ExportOpenMpi, TakesTheLeastWorstRegretOfKeysThatARuleCannotTellApart) {
  const auto of = [](DataType type, std::vector<RankedVariant> variants) {
    Decision made = decision(4096, std::move(variants));
    made.key.problem.data_type = type;
    return made;
  };
  // ring: 1 and 1.5 times the fastest; rabenseifner: 1.2 and 1.
  EXPECT_EQ(used(exported({of(DataType::f32, {tuned("algorithm=ring", 500),
                                              tuned("algorithm=rabenseifner", 600), baseline}),
                           of(DataType::f64, {tuned("algorithm=rabenseifner", 400),
                                              tuned("algorithm=ring", 600), baseline})})
                     .rules,
                 2, 4096),
            6);
  // What does not surely beat the default in one of them is for none.
  EXPECT_EQ(used(exported({of(DataType::f32, {tuned("algorithm=ring", 500), baseline}),
                           of(DataType::f64, {baseline, tuned("algorithm=ring", 600)})})
                     .rules,
                 2, 4096),
            0);
}

TEST(ExportOpenMpi, GivesScatterOneAlgorithmForAllSizes) {
  const auto of = [](std::uint64_t bytes, std::vector<RankedVariant> variants) {
    Decision made = decision(bytes, std::move(variants));
    made.key.problem.collective = Collective::scatter;
    made.key.problem.reduce_op = ReduceOp::none;
    return made;
  };
  const RankedVariant linear = ranked("mpi.scatter_tuned{algorithm=linear_nb}", 500);
  const RankedVariant binomial = ranked("mpi.scatter_tuned{algorithm=binomial}", 400);
  const RankedVariant own = ranked("mpi.scatter", 1000);
  const auto rules = exported({of(64, {binomial, linear, own}), of(4096, {linear, own, binomial})}).rules;
  for (const std::uint64_t bytes : {0U, 64U, 4096U, 1U << 30}) EXPECT_EQ(used(rules, 2, bytes, scatter), 3);
  EXPECT_EQ(used(exported({of(64, {binomial, own}), of(4096, {linear, own, binomial})}).rules, 2, 64,
                 scatter),
            0);
}

TEST(ExportOpenMpi, LeavesOutWhatNoRuleCanSay) {
  Decision captured = decision(64, {tuned("algorithm=ring", 500), baseline});
  captured.key.problem.graph_capture = true;
  Decision ordered = decision(64, {tuned("algorithm=ring", 500), baseline});
  ordered.key.problem.numeric_class = NumericClass::rank_order;
  const auto made =
      exported({captured, ordered,
                // The form with counts is another call of MPI than the one that was the baseline.
                decision(64, {ranked("mpi.reduce_scatter_counts_tuned{algorithm=ring}", 500), baseline}),
                // An algorithm that this release does not have.
                decision(4096, {tuned("algorithm=new", 500), tuned("algorithm=ring", 600), baseline})});
  EXPECT_EQ(made.keys, 2);
  EXPECT_EQ(used(made.rules, 2, 64), 0);
  EXPECT_EQ(used(made.rules, 2, 4096), 4);
  EXPECT_THAT(made.left_out, ElementsAre("MPI does not promise rank_order",
                                         "no device graph holds a call of MPI"));
}

TEST(ExportOpenMpi, SaysWhyThereIsNothing) {
  const auto refusal = [](std::vector<Decision> decisions, const Environment& with) {
    try {
      (void)exported(std::move(decisions), v4_1, with);
    } catch (const Error& error) {
      return std::pair(error.code(), std::string(error.what()));
    }
    return std::pair(StatusCode::internal, std::string("nothing was refused"));
  };
  const Decision one = decision(64, {tuned("algorithm=ring", 500), baseline});
  Decision of_all = one;
  of_all.family = any_family;
  EXPECT_EQ(refusal({of_all}, environment()).first, StatusCode::not_found);
  Environment other = environment();
  other.mpi_library = "Open MPI v5.0.8";
  EXPECT_THAT(refusal({one}, other).second,
              HasSubstr("nothing for Open MPI 4.1.x: the decisions were measured with Open MPI v5.0.8"));
  Decision elsewhere = one;
  elsewhere.key.environment_digest = "another";
  EXPECT_THAT(refusal({one, elsewhere}, environment()).second, HasSubstr("choose it by --environment"));
  EXPECT_EQ(refusal({elsewhere}, environment()).first, StatusCode::data_loss);
}

// ---- What the library would do

TEST(CheckOpenMpiRules, SaysWhatTheLibraryStumblesOver) {
  const auto why = [](std::string_view text, OpenMpiRelease release = v4_1) {
    return check_open_mpi_rules(text, release).why_dropped;
  };
  EXPECT_THAT(why(""), HasSubstr("it ends at line 1, where the number of collectives is expected"));
  EXPECT_THAT(why("23\n"), HasSubstr("line 1: 23 collectives, where MPI has 22"));
  EXPECT_THAT(why("1\n99\n0\n"), HasSubstr("there is no collective 99"));
  EXPECT_THAT(why("1\n2\n1\n2\n1\n64 3 0 0\n"), HasSubstr("line 6: the first message size is 64; it must be 0"));
  EXPECT_THAT(why("1\n2\n1\n2\n2\n0 3 0 0\n"), HasSubstr("it ends at line 7, where a message size is expected"));
  EXPECT_THAT(why("1\n2\n1\n2\n1\n0 -3 0 0\n"), HasSubstr("line 6: an algorithm is -3"));
  const std::string second = "rule-file-version-2\n1\n2\n1\n2\n1\n0 3 0 0 7\n";
  EXPECT_THAT(why(second), HasSubstr("rule-file-version-2"));
  const auto read = check_open_mpi_rules(second, OpenMpiRelease::v5_0);
  ASSERT_TRUE(read.rules) << read.why_dropped;
  EXPECT_EQ(read.rules->front().by_ranks.front().rules.front().max_requests, 7);
}

TEST(CheckOpenMpiRules, FindsCallsThatFailAndOtherSurprises) {
  const auto checked = check_open_mpi_rules(R"(4      # collectives
2 2
4 2
0 99 0 0
16384 6 0 010
8 2
0 6 0 0
64 0 0 0
0 1
4 1
0 6 0 0
7 1
4 2
0 2 0 0
4096 6 0 0
15 1
2 2
0 1 0 0
64 2 0 0
)",
                                            v4_1);
  ASSERT_TRUE(checked.rules) << checked.why_dropped;
  EXPECT_THAT(checked.failing,
              ElementsAre(HasSubstr("allreduce of 4 ranks: from 0 bytes on every call fails with MPI_ERR_ARG: "
                                    "there is no algorithm 99, they end at 6"),
                          HasSubstr("allgather of 4 ranks: from 0 bytes on every call fails: two_proc"),
                          HasSubstr("scatter of 2 ranks: ranks that are not the root")));
  EXPECT_THAT(checked.remarks,
              ElementsAre(HasSubstr("010 is read as 8"),
                          HasSubstr("allreduce: communicators of fewer than 4 ranks"),
                          HasSubstr("allgather: communicators of fewer than 4 ranks"),
                          HasSubstr("a chain of fan-out 0"),
                          HasSubstr("bcast: communicators of fewer than 4 ranks"),
                          HasSubstr("scatter: communicators of fewer than 2 ranks")));
  // The first size's rules are those of smaller communicators too; the last one's go on.
  EXPECT_EQ(used(*checked.rules, 2, 0), 99);
  EXPECT_EQ(used(*checked.rules, 64, 0), 6);
  EXPECT_EQ(used(*checked.rules, 64, 64), 0);
  EXPECT_EQ(used(*checked.rules, 64, 64, 11), 0);  // a collective without rules
}

TEST(CheckOpenMpiRules, KnowsTheAlgorithmsOfEachRelease) {
  const OpenMpiCollective& gather = *find_open_mpi_collective(0);
  EXPECT_EQ(open_mpi_algorithm_number(gather, "sparbit", v4_1), 0);
  EXPECT_EQ(open_mpi_algorithm_number(gather, "sparbit", OpenMpiRelease::v5_0), 7);
  EXPECT_EQ(open_mpi_algorithm_name(gather, 7, v4_1), "unknown");
  EXPECT_EQ(open_mpi_algorithm_name(gather, 0, v4_1), "default");
  EXPECT_EQ(find_open_mpi_collective(6), nullptr);
}

}  // namespace
}  // namespace colltune
