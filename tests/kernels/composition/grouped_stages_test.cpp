// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What is said of collectives by groups before any rank does something.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grouped_checks.h"

namespace colltune::test {
namespace {

TEST(GroupedStages, SayWhyThereAreNone) {
  const std::vector<int> sizes{3, 1};
  Problem problem = problem_of(Collective::all_reduce, 64);
  EXPECT_EQ(why_not_grouped(problem, sizes), "");
  problem.numeric_class = NumericClass::same_bits;
  EXPECT_EQ(why_not_grouped(problem, sizes), "");
  EXPECT_EQ(grouped_stages(problem, sizes, 0).bridge.numeric_class, NumericClass::same_bits);
  problem.numeric_class = NumericClass::rank_order;
  EXPECT_EQ(why_not_grouped(problem, sizes), "it accumulates group by group, not in rank order");
  problem = problem_of(Collective::all_reduce, 64);
  problem.reduce_op = ReduceOp::avg;
  EXPECT_EQ(why_not_grouped(problem, sizes), "");
  problem = problem_of(Collective::broadcast, 64);
  problem.numeric_class = NumericClass::rank_order;
  EXPECT_EQ(why_not_grouped(problem, sizes), "");
  problem.registered = true;
  EXPECT_EQ(why_not_grouped(problem, sizes), "");
  EXPECT_FALSE(grouped_stages(problem, sizes, 0).bridge.registered);
  problem.graph_capture = true;
  EXPECT_THAT(why_not_grouped(problem, sizes), testing::HasSubstr("graph"));
  EXPECT_EQ(why_not_grouped({}, std::vector{4}), "it needs at least 2 groups");
}

TEST(GroupedStages, OfAveragesAreSums) {
  for (const Collective collective :
       {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter}) {
    Problem problem = problem_of(collective, 64);
    const GroupedStages sums = grouped_stages(problem, std::vector{3, 1}, 0);
    problem.reduce_op = ReduceOp::avg;
    EXPECT_EQ(grouped_stages(problem, std::vector{3, 1}, 0), sums);
    EXPECT_EQ(sums.before->reduce_op, ReduceOp::sum);
    EXPECT_EQ(sums.bridge.reduce_op, ReduceOp::sum);
  }
}

TEST(GroupedStages, ArePaddedToTheLargestGroup) {
  // 4 ranks in groups of 3 and 1, blocks of 12 bytes.
  const std::vector<int> sizes{3, 1};
  const auto sizes_of = [&](Collective collective, std::uint64_t bytes, int group) {
    const GroupedStages stages = grouped_stages(problem_of(collective, bytes), sizes, group);
    std::vector<std::string> all;
    for (const auto& stage : {stages.before, std::optional(stages.bridge), stages.after})
      all.push_back(stage ? std::string(name_of(stage->collective)) + " " +
                                std::to_string(stage->message_size.value)
                          : "");
    return all;
  };
  using Stages = std::vector<std::string>;
  EXPECT_EQ(sizes_of(Collective::all_reduce, 12, 0),
            (Stages{"reduce 12", "all_reduce 12", "broadcast 12"}));
  EXPECT_EQ(sizes_of(Collective::all_reduce, 12, 1), (Stages{"", "all_reduce 12", ""}));
  EXPECT_EQ(sizes_of(Collective::reduce, 12, 0), (Stages{"reduce 12", "reduce 12", ""}));
  EXPECT_EQ(sizes_of(Collective::broadcast, 12, 0), (Stages{"", "broadcast 12", "broadcast 12"}));
  EXPECT_EQ(sizes_of(Collective::all_gather, 48, 0),
            (Stages{"gather 36", "all_gather 72", "broadcast 48"}));
  EXPECT_EQ(sizes_of(Collective::reduce_scatter, 48, 0),
            (Stages{"reduce 48", "reduce_scatter 72", "scatter 36"}));
  EXPECT_EQ(sizes_of(Collective::gather, 48, 0), (Stages{"gather 36", "gather 72", ""}));
  EXPECT_EQ(sizes_of(Collective::scatter, 48, 0), (Stages{"", "scatter 72", "scatter 36"}));
  EXPECT_EQ(sizes_of(Collective::all_to_all, 48, 0),
            (Stages{"gather 144", "all_to_all 216", "scatter 144"}));
  EXPECT_EQ(sizes_of(Collective::all_to_all, 48, 1), (Stages{"", "all_to_all 216", ""}));
}

TEST(GroupedNumerics, AreNoBetterThanTheSteps) {
  const Implementations catalogue = make_catalogue();
  Problem problem = problem_of(Collective::all_reduce, 64);
  const auto of = [&](const Grouping& grouping) {
    return grouped_numerics(problem, grouping, catalogue);
  };
  const Grouping inside = crossed_grouping(problem);
  Grouping each{.group_of_rank = {0, 1, 2, 3}, .inside = std::vector<GroupVariants>(4)};
  each.bridge = inside.bridge;
  EXPECT_EQ(of(inside).rounding, Rounding::exact);
  EXPECT_EQ(of(inside).numeric_class, NumericClass::same_bits);
  problem.data_type = DataType::bf16;
  EXPECT_EQ(of(inside).rounding, Rounding::each_step) << "rounded once in each stage";
  EXPECT_EQ(of(each).rounding, Rounding::once) << "there is one stage";
  problem.reduce_op = ReduceOp::avg;
  EXPECT_EQ(of(inside).rounding, Rounding::each_step);
  EXPECT_EQ(of(each).rounding, Rounding::each_step) << "a sum, rounded before it is divided";
  problem.data_type = DataType::i32;
  EXPECT_EQ(of(inside).rounding, Rounding::exact);
  problem = problem_of(Collective::all_gather, 64);
  EXPECT_EQ(of(crossed_grouping(problem)).rounding, Rounding::exact);
  EXPECT_EQ(of(crossed_grouping(problem)).numeric_class, NumericClass::rank_order);
}

TEST(GroupedCost, IsThatOfTheSlowestGroup) {
  const Implementations catalogue = make_catalogue();
  const Problem problem = problem_of(Collective::all_reduce, 64);
  const std::vector<int> groups{0, 0, 1, 1, 1, 1};
  Grouping grouping = crossed_grouping(problem);
  grouping.group_of_rank = groups;
  const GroupTopologies topologies =
      grouped_topologies(std::vector<int>(6), groups, problem.collective);
  const Cost cost = grouped_cost(problem, grouping, topologies, catalogue);
  // Mail takes a round and brings a rank what each other one gives: 3, 1, and from the root 3.
  const auto one = [&](const char* name, Collective collective, int ranks) {
    return find_implementation(catalogue, name)
        ->cost(problem_of(collective, 64), {.ranks_per_node = ranks, .ranks = ranks}, {});
  };
  EXPECT_EQ(cost.steps, 3);
  EXPECT_EQ(cost.bytes_per_rank,
            one("cpu.reduce_low_latency", Collective::reduce, 4).bytes_per_rank +
                one("cpu.all_reduce_low_latency", Collective::all_reduce, 2).bytes_per_rank +
                one("cpu.broadcast_low_latency", Collective::broadcast, 4).bytes_per_rank);
}

TEST(GroupedTopologies, AreAsManyAsTheRanks) {
  const Problem problem = problem_of(Collective::all_reduce, 64);
  const Implementations catalogue = make_catalogue();
  const Grouping grouping = crossed_grouping(problem);
  EXPECT_THROW((void)grouped_topologies(std::vector<int>(3), crossed, problem.collective), Error);
  EXPECT_THROW((void)supports_grouped(problem, grouping, alike(3), catalogue), Error);
  EXPECT_THROW((void)grouped_cost(problem, grouping, {}, catalogue), Error);
}

TEST(GroupedTopologies, AreThoseOfTheRoot) {
  // Whoever leads decides how many nodes the leaders are on.
  const std::vector<int> nodes{0, 0, 1, 1};
  const std::vector<int> groups{0, 1, 1, 1};
  EXPECT_EQ(grouped_topologies(nodes, groups, Collective::all_reduce).bridge.nodes, 1);
  const GroupTopologies of_reduce = grouped_topologies(nodes, groups, Collective::reduce);
  EXPECT_EQ(of_reduce.bridge.nodes, 2);
  EXPECT_EQ(of_reduce.inside.at(0).ranks, 1);
  EXPECT_EQ(of_reduce.inside.at(1).nodes, 2);
  EXPECT_EQ(of_reduce.inside.at(1).ranks_per_node, 2);
  const Problem problem = problem_of(Collective::reduce, 64);
  Grouping grouping = crossed_grouping(problem);
  grouping.group_of_rank = groups;
  grouping.inside[0] = {};
  GroupedRanks ranks = alike(4);
  EXPECT_TRUE(supports_grouped(problem, grouping, ranks, make_catalogue()));
  ranks.nodes = {0, 1, 1, 1};
  EXPECT_THAT(
      supports_grouped(problem, grouping, ranks, make_catalogue()).reason(),
      testing::HasSubstr(
          "across the groups, "
          "cpu.reduce_low_latency{format=line,slots=4,stores=cached,taken_back=one_line} on rank "
          "0: it works in shared memory"));
}

}  // namespace
}  // namespace colltune::test
