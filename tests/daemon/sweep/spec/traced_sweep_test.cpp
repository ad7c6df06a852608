// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The configuration that measures the calls of a trace.

#include "colltune/sweep/spec/traced_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "colltune/sweep/spec/sweep_spec.h"
#include "error_of.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint32_t two_ranks = 0;
constexpr std::uint32_t two_nodes = 1;
constexpr std::uint32_t alone = 2;
constexpr std::uint32_t uneven = 3;
constexpr std::uint32_t nowhere = 4;
constexpr std::uint32_t three_ranks = 5;

Trace trace_of(std::vector<TracedCalls> calls) {
  return {.program = "./program",
          .mpi_library = "Open MPI",
          .ranks = 8,
          .nodes = 2,
          .rank_time = 100s,
          .not_kept = {},
          .worlds = {{.ranks = 2, .nodes = 1, .ranks_per_node = 2, .communicators = 1},
                     {.ranks = 8, .nodes = 2, .ranks_per_node = 4, .communicators = 1},
                     {.ranks = 1, .nodes = 1, .ranks_per_node = 1, .communicators = 1},
                     {.ranks = 3, .nodes = 2, .ranks_per_node = 0, .communicators = 1},
                     {.ranks = 4, .nodes = 0, .ranks_per_node = 0, .communicators = 1},
                     {.ranks = 3, .nodes = 1, .ranks_per_node = 3, .communicators = 1}},
          .calls = std::move(calls)};
}

TracedCalls reduction(std::uint64_t size, nanoseconds time, std::uint32_t world = two_ranks) {
  return {.world = world,
          .call = {.operation = TracedOperation::all_reduce,
                   .data_type = DataType::f64,
                   .reduce_op = ReduceOp::sum,
                   .message_size = {size}},
          .by_ranks = {.calls = 2, .time = time}};
}

TracedCalls move(TracedOperation operation, std::uint64_t size, nanoseconds time,
                 std::uint32_t world = two_ranks) {
  return {.world = world,
          .call = {.operation = operation, .message_size = {size}},
          .by_ranks = {.calls = 2, .time = time}};
}

SweepSpec spec_of(const TracedSweep& sweep) {
  return parse_sweep_spec(sweep.configuration, "from trace.ctr");
}

TracedSweep from(std::vector<TracedCalls> calls,
                 const std::optional<BaseConfiguration>& base = std::nullopt) {
  return configuration_from(trace_of(std::move(calls)), "trace.ctr", base);
}

TEST(TracedSweep, MeasuresEachCallInItsWorldTheHeaviestFirst) {
  const TracedSweep sweep = from({reduction(64, 3us), move(TracedOperation::broadcast, 4096, 9us),
                                  reduction(8192, 5us, two_nodes)});
  const SweepSpec spec = spec_of(sweep);
  EXPECT_THAT(spec.calls, ElementsAre(CallSpec{.collective = Collective::broadcast,
                                               .data_type = DataType::f32,
                                               .reduce_op = ReduceOp::none,
                                               .size = {4096},
                                               .world = WorldSpec{.nodes = 1, .ranks_per_node = 2},
                                               .weight = 9000},
                                      CallSpec{.collective = Collective::all_reduce,
                                               .data_type = DataType::f64,
                                               .reduce_op = ReduceOp::sum,
                                               .size = {8192},
                                               .world = WorldSpec{.nodes = 2, .ranks_per_node = 4},
                                               .weight = 5000},
                                      CallSpec{.collective = Collective::all_reduce,
                                               .data_type = DataType::f64,
                                               .reduce_op = ReduceOp::sum,
                                               .size = {64},
                                               .world = WorldSpec{.nodes = 1, .ranks_per_node = 2},
                                               .weight = 3000}));
  EXPECT_THAT(spec.collectives, IsEmpty());
  EXPECT_EQ(spec.text, sweep.configuration);
  EXPECT_THAT(describe(sweep.coverage),
              ElementsAre("trace of ./program (8 ranks on 2 nodes): 3 kinds of calls, 100.0 % of "
                          "the recorded collective time, are measured"));
}

TEST(TracedSweep, WhatOnlyMovesDataHasOneTypeForACollectiveInAWorld) {
  TracedCalls nonblocking = move(TracedOperation::gather, 7, 1us);
  nonblocking.call.is_nonblocking = true;
  const SweepSpec spec = spec_of(from({
      move(TracedOperation::all_gather, 24, 9us, three_ranks),  // 8 bytes from each rank
      move(TracedOperation::all_gather, 16, 8us, three_ranks),  // 5, with one left over
      move(TracedOperation::all_gather, 16, 7us),               // 8
      move(TracedOperation::broadcast, 6, 6us),
      move(TracedOperation::broadcast, 8, 5us),
      move(TracedOperation::gather, 8, 4us),
      move(TracedOperation::gather, 1, 3us),  // less than a byte of each: not measured
      nonblocking,
  }));
  const auto moved = [](Collective collective, DataType type, std::uint64_t size) {
    return testing::AllOf(testing::Field("collective", &CallSpec::collective, collective),
                          testing::Field("type", &CallSpec::data_type, type),
                          testing::Field("size", &CallSpec::size, Bytes{size}));
  };
  EXPECT_THAT(spec.calls, ElementsAre(moved(Collective::all_gather, DataType::u8, 24),
                                      moved(Collective::all_gather, DataType::u8, 15),
                                      moved(Collective::all_gather, DataType::f32, 16),
                                      moved(Collective::broadcast, DataType::u8, 6),
                                      moved(Collective::broadcast, DataType::u8, 8),
                                      moved(Collective::gather, DataType::f32, 8)));
}

TEST(TracedSweep, KindsThatAreOneKeyAddUp) {
  // The counts' shape, and bytes beyond whole elements, make no other key.
  TracedCalls rounded = reduction(64, 1us);
  rounded.call.is_rounded = true;
  const TracedSweep sweep =
      from({reduction(64, 3us), reduction(67, 2us), rounded, reduction(128, 5us)});
  const SweepSpec spec = spec_of(sweep);
  ASSERT_EQ(spec.calls.size(), 2U);
  EXPECT_EQ(spec.calls[0].size, Bytes{64});
  EXPECT_EQ(spec.calls[0].weight, 6000);
  EXPECT_EQ(spec.calls[1].weight, 5000);
  EXPECT_EQ(sweep.coverage.keys, 2U);
  EXPECT_EQ(sweep.coverage.measured.kinds, 4U);
  EXPECT_THAT(describe(sweep.coverage).at(0), HasSubstr("4 kinds of calls as 2 keys, 100.0 %"));
}

TEST(TracedSweep, ACallThatTookNoTimeStillCounts) {
  EXPECT_EQ(spec_of(from({reduction(64, 0ns)})).calls.at(0).weight, 1);
}

TEST(TracedSweep, WhatIsNotMeasuredHasAReason) {
  TracedCalls nonblocking = reduction(64, 1us);
  nonblocking.call.is_nonblocking = true;
  TracedCalls any_type = reduction(64, 1us);
  any_type.call.data_type.reset();
  TracedCalls any_op = reduction(64, 1us);
  any_op.call.reduce_op.reset();
  const std::vector<std::pair<TracedCalls, Unserved>> cases{
      {nonblocking, Unserved::nonblocking},
      {move(TracedOperation::all_to_all_v, 64, 1us), Unserved::irregular},
      {move(TracedOperation::neighbor_all_gather_v, 64, 1us), Unserved::irregular},
      {move(TracedOperation::barrier, 0, 1us), Unserved::other_operation},
      {move(TracedOperation::scan, 64, 1us), Unserved::other_operation},
      {reduction(64, 1us, alone), Unserved::one_rank},
      {reduction(64, 1us, uneven), Unserved::uneven_placement},
      {reduction(64, 1us, nowhere), Unserved::uneven_placement},
      {any_type, Unserved::not_in_vocabulary},
      {any_op, Unserved::not_in_vocabulary},
      {reduction(0, 1us), Unserved::no_element},
      {reduction(7, 1us), Unserved::no_element},
      {move(TracedOperation::all_gather, 1, 1us), Unserved::no_element},
      {reduction(std::uint64_t{1} << 41U, 1us), Unserved::too_large}};
  for (const auto& [left_out, why] : cases) {
    const TracedSweep sweep = from({reduction(64, 3us), left_out});
    EXPECT_EQ(spec_of(sweep).calls.size(), 1U) << name_of(why);
    ASSERT_EQ(sweep.coverage.left_out.size(), 1U) << name_of(why);
    EXPECT_EQ(sweep.coverage.left_out.begin()->first, why)
        << name_of(sweep.coverage.left_out.begin()->first) << ", not " << name_of(why);
    EXPECT_EQ(sweep.coverage.left_out.begin()->second.kinds, 1U);
    EXPECT_EQ(sweep.coverage.left_out.begin()->second.time_ns, 1000);
    EXPECT_THAT(
        describe(sweep.coverage),
        ElementsAre(HasSubstr("1 kind of calls, 75.0 % of the recorded collective time, is"),
                    "not measured: " + std::string(name_of(why)) + " 25.0 %"));
  }
}

TEST(TracedSweep, ReasonsAreSummedTheLongestFirst) {
  TracedCalls nonblocking = reduction(64, 2us);
  nonblocking.call.is_nonblocking = true;
  Trace trace =
      trace_of({reduction(64, 89us), nonblocking, move(TracedOperation::all_to_all_v, 64, 3us),
                move(TracedOperation::gather_v, 64, 2us), move(TracedOperation::barrier, 0, 1ns)});
  trace.not_kept = {.calls = 7, .time = 4us};
  const TracedSweep sweep = configuration_from(trace, "trace.ctr", std::nullopt);
  EXPECT_THAT(describe(sweep.coverage),
              ElementsAre(HasSubstr("1 kind of calls, 89.0 %"),
                          "not measured: irregular 5.0 %, not kept in the trace 4.0 %, "
                          "nonblocking 2.0 %, other operations less than 0.1 %"));
}

TEST(TracedSweep, UnequalCountsThatAllRanksKnowAreMeasured) {
  TracedCalls large = move(TracedOperation::all_gather_v, 1024, 5us);
  large.call.counts = CountShape::one_large;
  TracedCalls alike = move(TracedOperation::all_gather_v, 1024, 4us);
  TracedCalls mixed = reduction(512, 3us);
  mixed.call.operation = TracedOperation::reduce_scatter_v;
  mixed.call.counts = CountShape::mixed;
  TracedCalls unseen = move(TracedOperation::gather_v, 64, 1us);
  unseen.call.counts = CountShape::unseen;
  const TracedSweep sweep = from({large, alike, mixed, unseen});
  const SweepSpec spec = spec_of(sweep);
  ASSERT_EQ(spec.calls.size(), 3U);
  EXPECT_EQ(spec.calls[0].collective, Collective::all_gather);
  EXPECT_EQ(spec.calls[0].counts, Counts::one_large);
  EXPECT_EQ(spec.calls[0].size.value, 1024U);
  EXPECT_EQ(spec.calls[1].collective, Collective::all_gather);
  EXPECT_EQ(spec.calls[1].counts, Counts::equal);
  EXPECT_EQ(spec.calls[2].collective, Collective::reduce_scatter);
  EXPECT_EQ(spec.calls[2].counts, Counts::random);
  ASSERT_EQ(sweep.coverage.left_out.size(), 1U);
  EXPECT_EQ(sweep.coverage.left_out.begin()->first, Unserved::irregular);
}

TEST(TracedSweep, OfTooManyTheHeaviestAreMeasured) {
  std::vector<TracedCalls> calls;
  for (std::uint64_t i = 1; i <= most_traced_calls + 76; ++i)
    calls.push_back(reduction(8 * i, nanoseconds(static_cast<std::int64_t>(i))));
  const TracedSweep sweep = from(calls);
  const SweepSpec spec = spec_of(sweep);
  ASSERT_EQ(spec.calls.size(), most_traced_calls);
  EXPECT_EQ(spec.calls.front().weight, 1100);
  EXPECT_EQ(spec.calls.back().weight, 77);
  EXPECT_EQ(sweep.coverage.left_out.at(Unserved::beyond_limit).kinds, 76U);
  EXPECT_THAT(describe(sweep.coverage).at(1),
              HasSubstr("beyond the 1024 heaviest 0.5 % (76 kinds)"));
}

TEST(TracedSweep, TheSameTraceGivesTheSameTextInWhateverOrder) {
  std::vector<TracedCalls> calls{reduction(64, 3us), reduction(128, 3us), reduction(256, 3us),
                                 move(TracedOperation::gather, 64, 3us)};
  const std::string text = from(calls).configuration;
  std::ranges::reverse(calls);
  EXPECT_EQ(from(calls).configuration, text);
}

TEST(TracedSweep, WithoutAConfigurationTheBudgetFollowsTheCalls) {
  const auto spec_with = [](std::uint64_t keys) {
    std::vector<TracedCalls> calls;
    for (std::uint64_t i = 1; i <= keys; ++i) calls.push_back(reduction(8 * i, 1us));
    return spec_of(from(calls));
  };
  EXPECT_EQ(spec_with(1).budget, 30s);
  EXPECT_EQ(spec_with(20).budget, 40s);
  EXPECT_EQ(spec_with(1000).budget, 600s);
  EXPECT_EQ(spec_with(1).precision, 0.01);
  EXPECT_EQ(spec_with(1).soak.time, 100ms);
}

TEST(TracedSweep, TheBaseSaysHowAndTheTraceWhat) {
  const BaseConfiguration base{
      .text = R"({"$schema": "sweep.schema.json", "version": 1, "collectives": ["gather"],
                  "meshes": [{"shape": "2", "reduce": "0:sum"}], "types": ["i8"], "ops": ["max"],
                  "sizes": "8", "holdout_sizes": "16", "worlds": [{"nodes": 9, "ranks_per_node": 9}],
                  "partial_worlds": true, "in_place": [true], "registered": [true],
                  "graph_capture": [true],
                  "calls": [{"collective": "gather", "type": "f32", "size": 8}],
                  "budget_seconds": 7.5, "passes": 3, "plugins": ["mine.so"],
                  "implementations": {"include": ["mpi.*"]},
                  "decision": {"minimum_margin": 0.05}})",
      .name = "/etc/base.json"};
  const TracedSweep sweep = from({reduction(64, 3us)}, base);
  const SweepSpec spec = parse_sweep_spec(sweep.configuration, base.name);
  EXPECT_EQ(spec.calls.size(), 1U);
  EXPECT_THAT(spec.collectives, IsEmpty());
  EXPECT_THAT(spec.meshes, IsEmpty());
  EXPECT_THAT(spec.worlds, IsEmpty());
  EXPECT_EQ(spec.in_place, BooleanAxis{});
  EXPECT_EQ(spec.budget, 7500ms);
  EXPECT_EQ(spec.passes, 3);
  EXPECT_THAT(spec.include, ElementsAre("mpi.*"));
  EXPECT_EQ(spec.decision.minimum_margin, 0.05);
  EXPECT_THAT(spec.plugins, ElementsAre("/etc/mine.so"));
  // A base need not name anything to measure.
  EXPECT_EQ(spec_of(from({reduction(64, 3us)},
                         BaseConfiguration{.text = R"({"version": 1, "seed": 5})", .name = "b"}))
                .seed,
            5U);
}

TEST(TracedSweep, AWrongBaseIsNamed) {
  const auto refusal = [](const std::string& text) {
    return error_of([&] {
      (void)from({reduction(64, 3us)}, BaseConfiguration{.text = text, .name = "base.json"});
    });
  };
  EXPECT_THAT(refusal("{"), HasSubstr("base.json: not JSON"));
  EXPECT_EQ(refusal("{}"), "base.json: /: key 'version' is missing; required are version");
  EXPECT_THAT(refusal(R"({"version": 1, "budget_seconds": -1})"),
              HasSubstr("base.json: /budget_seconds: found -1"));
}

TEST(TracedSweep, NothingToMeasureIsAnErrorWithTheReasons) {
  const auto error = [](const Trace& trace) {
    try {
      (void)configuration_from(trace, "trace.ctr", std::nullopt);
    } catch (const Error& failure) {
      EXPECT_EQ(failure.code(), StatusCode::not_found);
      return std::string(failure.what());
    }
    return std::string();
  };
  EXPECT_EQ(error(trace_of({})),
            "trace.ctr: there is nothing to measure: the program called no collectives");
  EXPECT_THAT(error(trace_of({move(TracedOperation::barrier, 0, 1us),
                              move(TracedOperation::all_to_all_v, 8, 3us)})),
              AllOf(HasSubstr("trace.ctr: there is nothing to measure"),
                    HasSubstr("irregular 75.0 %, other operations 25.0 %")));
}

}  // namespace
}  // namespace colltune
