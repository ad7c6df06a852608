// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/measure/compat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "one_cell.h"

namespace colltune {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

SweepPlan plan_of(const std::vector<std::string>& variants, int ranks,
                  const std::vector<Problem>& problems) {
  SweepPlan plan;
  PlannedWorld world = fakes::world_of(ranks);
  for (const Problem& problem : problems) {
    Cell cell{.key = {.problem = problem, .topology = world.topology, .environment_digest = "e"}};
    for (const std::string& variant : variants)
      cell.variants.push_back({.variant = parse_variant(variant),
                               .family = "fake",
                               .protocol = "p",
                               .rounding = Rounding::once,
                               .call_limit = 1ms});
    plan.cells.push_back(std::move(cell));
  }
  plan.worlds.push_back(std::move(world));
  return plan;
}

std::vector<CompatTime> measure(CompatTool tool, const Implementations& implementations,
                                const SweepPlan& plan, int ranks) {
  std::vector<CompatTime> times;
  AbortFlag stop;
  fakes::on_ranks(ranks, 20s, [&](ControlPlane& control, Communicator& launch) {
    MeasurePolicy policy;
    policy.call_limit_floor = 2s;
    Measurer measurer({control, launch, implementations, plan}, policy);
    auto own = measure_like(tool, measurer, plan, stop);
    if (control.rank() == 0)
      times = std::move(own);
    else
      EXPECT_TRUE(own.empty());
    control.barrier();
  });
  return times;
}

class Loops : public testing::TestWithParam<std::tuple<CompatTool, std::uint64_t, int, int>> {};
INSTANTIATE_TEST_SUITE_P(Tools, Loops,
                         testing::Values(std::tuple(CompatTool::osu, 8192, 1100, 1000),
                                         std::tuple(CompatTool::osu, 8196, 110, 100),
                                         std::tuple(CompatTool::nccl_tests, 64, 21, 20)));

TEST_P(Loops, MakeAsManyCallsAsTheToolAndAverageThem) {
  const auto [tool, size, calls, counted] = GetParam();
  std::atomic<int> made{0};
  const auto implementations = fakes::make({{.name = "a", .at_start = [&](int rank, int call) {
                                               if (rank == 0) ++made;
                                               // Not counted by any tool: the first call.
                                               if (call == 1) std::this_thread::sleep_for(200ms);
                                             }}});
  const auto plan = plan_of({"a"}, 2, {{.message_size = {size}}});
  const auto times = measure(tool, implementations, plan, 2);
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].failure, "");
  EXPECT_EQ(times[0].iterations, counted);
  // One verified call comes first.
  EXPECT_EQ(made, calls + 1);
  EXPECT_GT(times[0].min_us, 0);
  EXPECT_LE(times[0].min_us, times[0].mean_us);
  EXPECT_LE(times[0].mean_us, times[0].max_us);
}

TEST(Compat, RanksAreAveragedWithTheFastestAndTheSlowest) {
  // Rank 1 alone is slow, and nobody waits for it within the call: its own time alone shows it.
  const auto implementations =
      fakes::make({{.name = "a", .spoil = [](int rank, int call, std::span<std::byte>) {
                      if (rank == 1 && call >= 2) std::this_thread::sleep_for(1ms);
                    }}});
  const auto times =
      measure(CompatTool::osu, implementations, plan_of({"a"}, 2, {{.message_size = {16384}}}), 2);
  EXPECT_GE(times.at(0).max_us, 1000);
  EXPECT_NEAR(times[0].mean_us, (times[0].min_us + times[0].max_us) / 2, 0.01);
}

TEST(Compat, AVariantThatFailsIsNamedAndTheOthersGoOn) {
  const auto implementations = fakes::make({{.name = "bad",
                                             .at_wait =
                                                 [](int rank, int call) {
                                                   if (rank == 1 && call == 30)
                                                     throw std::runtime_error("planted");
                                                 }},
                                            {.name = "good"}});
  const auto plan = plan_of({"bad", "good"}, 2, {{.message_size = {16384}}});
  const auto times = measure(CompatTool::osu, implementations, plan, 2);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_THAT(times[0].failure, HasSubstr("planted"));
  EXPECT_EQ(times[1].failure, "");
  EXPECT_GT(times[1].mean_us, 0);
  EXPECT_THAT(render_like(CompatTool::osu, plan, times), HasSubstr("# 16384: rank 1: planted\n"));
  EXPECT_THAT(render_like(CompatTool::nccl_tests, plan, times), HasSubstr("N/A"));
}

TEST(Compat, TheTableOfOsu) {
  const auto plan = plan_of({"a"}, 4,
                            {{.message_size = {1024}},
                             {.message_size = {4096}},
                             {.collective = Collective::all_gather,
                              .reduce_op = ReduceOp::none,
                              .message_size = {1024}}});
  const std::vector<CompatTime> times{
      {.cell = 0, .variant = "a", .iterations = 1000, .mean_us = 2.5, .min_us = 1, .max_us = 4},
      {.cell = 1, .variant = "a", .iterations = 1000, .mean_us = 12.345, .min_us = 1, .max_us = 40},
      {.cell = 2, .variant = "a", .iterations = 1000, .mean_us = 3, .min_us = 3, .max_us = 3}};
  EXPECT_EQ(render_like(CompatTool::osu, plan, times),
            "# a on 1x4 x86_64, f32 sum\n"
            "# OSU MPI Allreduce Latency Test, the loop of v7.4\n"
            "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
            "1024                    2.50              1.00              4.00        1000\n"
            "4096                   12.35              1.00             40.00        1000\n"
            "\n"
            "# a on 1x4 x86_64, f32\n"
            "# OSU MPI Allgather Latency Test, the loop of v7.4\n"
            "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
            "256                     3.00              3.00              3.00        1000\n"
            "\n");
}

TEST(Compat, TheTableOfNcclTestsHasBothPlacesInARow) {
  const auto plan = plan_of({"a"}, 2,
                            {{.message_size = {1 << 20}},
                             {.message_size = {1 << 20}, .in_place = true},
                             {.message_size = {2 << 20}, .in_place = true}});
  const std::vector<CompatTime> times{
      {.cell = 0, .variant = "a", .iterations = 20, .mean_us = 524.288, .min_us = 1, .max_us = 9},
      {.cell = 1, .variant = "a", .iterations = 20, .mean_us = 52.4288, .min_us = 1, .max_us = 9},
      {.cell = 2, .variant = "a", .iterations = 20, .mean_us = 20971.52, .min_us = 1, .max_us = 9}};
  const std::string text = render_like(CompatTool::nccl_tests, plan, times);
  EXPECT_THAT(text, HasSubstr("     1048576        262144     float     sum      -1    524.3    "
                              "2.00    2.00      0    52.43   20.00   20.00      0\n"));
  EXPECT_THAT(text, HasSubstr("     2097152        524288     float     sum      -1      N/A     "
                              "N/A     N/A    N/A    20972    0.10    0.10      0\n"));
}

}  // namespace
}  // namespace colltune
