// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Single calls in a plan: their worlds, keys and weights.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "error_of.h"
#include "fakes.h"
#include "plan_fixture.h"

namespace colltune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CallSpec reduction(std::uint64_t size, double weight = 1, std::optional<WorldSpec> world = {}) {
  return {.collective = Collective::all_reduce,
          .data_type = DataType::f64,
          .reduce_op = ReduceOp::sum,
          .size = {size},
          .world = world,
          .weight = weight};
}

SweepSpec spec_with(std::vector<CallSpec> calls) {
  return {.calls = std::move(calls), .null_test = false};
}

Implementations implementations() {
  return fakes::make({{.name = "ar"},
                      {.name = "b", .collective = Collective::broadcast},
                      {.name = "ag", .collective = Collective::all_gather}});
}

SweepPlan plan_of(const SweepSpec& spec, const Availability& ranks = launch(2, 4)) {
  return make_plan(spec, ranks, implementations(), "e");
}

/// "2x4 all_reduce f64 sum 64: 3" for each cell.
std::vector<std::string> cells_of(const SweepPlan& plan) {
  std::vector<std::string> cells;
  for (const Cell& cell : plan.cells) {
    const Topology& topology = cell.key.topology;
    cells.push_back(std::to_string(topology.nodes) + "x" + std::to_string(topology.ranks_per_node) +
                    " " + describe(cell.key.problem) + (cell.is_holdout ? " held out" : "") + ": " +
                    std::to_string(static_cast<int>(cell.weight)));
  }
  return cells;
}

TEST(CallsInAPlan, BelongToTheWholeLaunchOrToTheirWorldAndTheHeaviestComesFirst) {
  const SweepPlan plan =
      plan_of(spec_with({reduction(64, 2), reduction(128, 5, WorldSpec{1, 2}),
                         reduction(256, 3, WorldSpec{2, 4}), reduction(512, 2, WorldSpec{1, 2})}));
  EXPECT_THAT(cells_of(plan),
              ElementsAre("1x2 all_reduce f64 sum 128: 5", "2x4 all_reduce f64 sum 256: 3",
                          "2x4 all_reduce f64 sum 64: 2", "1x2 all_reduce f64 sum 512: 2"));
  // The world of all ranks, and the launch, are one.
  ASSERT_EQ(plan.worlds.size(), 2U);
  EXPECT_EQ(plan.worlds[0].ranks.size(), 8U);
  EXPECT_THAT(plan.worlds[1].ranks, ElementsAre(0, 1));
}

TEST(CallsInAPlan, AreMeasuredInTheirWorldsAndTheProductInItsOwn) {
  SweepSpec spec = spec_of("64,1KiB");
  spec.data_types = {DataType::f64};
  spec.calls = {reduction(256, 3, WorldSpec{1, 2}), reduction(64, 7)};
  EXPECT_THAT(cells_of(plan_of(spec)),
              ElementsAre("2x4 all_reduce f64 sum 64: 7", "1x2 all_reduce f64 sum 256: 3",
                          "2x4 all_reduce f64 sum 1KiB: 1"));
  spec.worlds = {{1, 2}};
  EXPECT_THAT(cells_of(plan_of(spec)),
              ElementsAre("2x4 all_reduce f64 sum 64: 7", "1x2 all_reduce f64 sum 256: 3",
                          "1x2 all_reduce f64 sum 64: 1", "1x2 all_reduce f64 sum 1KiB: 1"));
}

TEST(CallsInAPlan, AreRoundedAndEachKeyStandsThereOnceWithTheSumOfItsWeights) {
  const SweepPlan plan = plan_of(spec_with({reduction(64, 2), reduction(71, 3), reduction(7, 9)}));
  EXPECT_THAT(cells_of(plan), ElementsAre("2x4 all_reduce f64 sum 64: 5"));
  ASSERT_EQ(plan.skipped.size(), 1U);
  EXPECT_THAT(plan.skipped[0].reason, HasSubstr("7 is less than one f64 element"));
}

TEST(CallsInAPlan, HaveTheDefaultBuffersWhateverTheProductHas) {
  SweepSpec spec = spec_of("64");
  spec.in_place = {.off = false, .on = true};
  spec.calls = {{.collective = Collective::broadcast, .data_type = DataType::u8, .size = {5}},
                {.collective = Collective::all_gather, .data_type = DataType::f32, .size = {96}}};
  const SweepPlan plan = plan_of(spec);
  EXPECT_THAT(cells_of(plan), ElementsAre("2x4 all_reduce f32 sum 64 in-place: 1",
                                          "2x4 broadcast u8 5: 1", "2x4 all_gather f32 96: 1"));
  EXPECT_TRUE(plan.cells.at(1).key.problem.in_place) << "its one buffer";
  EXPECT_FALSE(plan.cells.at(2).key.problem.in_place);
}

TEST(CallsInAPlan, AreNeverHeldOut) {
  SweepSpec spec = spec_of("64");
  spec.data_types = {DataType::f64};
  spec.holdout_sizes = parse_sizes("128,256");
  spec.calls = {reduction(128, 4)};
  const SweepPlan plan = plan_of(spec);
  EXPECT_THAT(cells_of(plan),
              ElementsAre("2x4 all_reduce f64 sum 128: 4", "2x4 all_reduce f64 sum 64: 1",
                          "2x4 all_reduce f64 sum 256 held out: 1"));
  ASSERT_EQ(plan.skipped.size(), 1U);
  EXPECT_THAT(plan.skipped[0].reason, HasSubstr("of the calls'"));
}

TEST(CallsInAPlan, AWorldThatTheLaunchDoesNotHaveIsAnErrorThatSaysWhatToDo) {
  EXPECT_EQ(error_of([] {
              (void)plan_of(spec_with({reduction(64), reduction(8192, 1, WorldSpec{2, 16})}));
            }),
            "/calls/1 (all_reduce f64 sum 8KiB): the world of 2 node(s) with 16 rank(s) each is "
            "larger than the launch, which has 4 rank(s) on node 0; launch as the program was "
            "launched: at least 32 ranks, 16 on each of 2 node(s); or leave out the calls of this "
            "world");
  EXPECT_THAT(error_of([] {
                (void)plan_of(spec_with({reduction(64, 1, WorldSpec{3, 1})}));
              }),
              AllOf(HasSubstr("3 node(s) with 1 rank(s) each"),
                    HasSubstr("2 node(s) with 8 rank(s) in all"), HasSubstr("at least 3 ranks")));
}

TEST(CallsInAPlan, MakeNoPartialWorlds) {
  const auto unlike =
      fakes::make({{.name = "all", .is_baseline = true},
                   {.name = "few",
                    .supports = [](const Problem&, const Topology&, const Capability& capability,
                                   const Variant&) {
                      return capability.has("x") ? Support::yes() : Support::no("lacks it");
                    }}});
  const Availability ranks = merge_capabilities(
      std::vector{able({"x"}), able({"x"}), able(), able()}, std::vector{0, 0, 0, 0});
  SweepSpec spec = spec_of("64");
  spec.worlds = {{1, 2}};
  spec.partial_worlds = true;
  spec.calls = {reduction(64)};
  const SweepPlan plan = make_plan(spec, ranks, unlike, "e");
  EXPECT_THAT(cells_of(plan),
              ElementsAre("1x2 all_reduce f32 sum 64: 1", "1x4 all_reduce f64 sum 64: 1"));
}

TEST(CallsInAPlan, OfAPlanOfOneWorldAreLeftOut) {
  SweepSpec spec = spec_of("64");
  const SweepPlan whole = plan_of(spec);
  spec.calls = {reduction(64)};
  const SweepPlan plan =
      make_plan(spec, launch(2, 4), implementations(), "e", {.world = &whole.worlds.at(0)});
  EXPECT_THAT(cells_of(plan), ElementsAre("2x4 all_reduce f32 sum 64: 1"));
}

TEST(CallsInAPlan, WeightsAreShownWhereTheyDiffer) {
  EXPECT_THAT(render_plan(plan_of(spec_with({reduction(64, 1), reduction(128, 3)}))),
              AllOf(HasSubstr("all_reduce f64 sum 128 (75 % of the weight): ar"),
                    HasSubstr("all_reduce f64 sum 64 (25 % of the weight): ar")));
  EXPECT_THAT(render_plan(plan_of(spec_with({reduction(64, 3), reduction(128, 3)}))),
              testing::Not(HasSubstr("weight")));
}

TEST(CallsInAPlan, CountAgainstTheLimit) {
  SweepSpec spec = spec_of();
  spec.collectives.clear();
  for (std::uint64_t size = 1; size <= 1'000'001; ++size) spec.calls.push_back(reduction(8 * size));
  EXPECT_THAT(error_of([&] { (void)plan_of(spec); }),
              AllOf(HasSubstr("1000001 keys"), HasSubstr("+ 1000001 calls")));
}

}  // namespace
}  // namespace colltune
