// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// `colltune run --record`: what a program calls, in a file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "colltune/trace/trace.h"
#include "component_fixture.h"

namespace colltune::testing {
namespace {

using ::testing::HasSubstr;

class Records : public Component {
 protected:
  [[nodiscard]] std::string file() const { return folder_.file("trace.ctr"); }
  [[nodiscard]] Ended record(const std::vector<std::string>& command,
                             const std::vector<std::string>& options = {}) const {
    return run(
        with(with(with({COLLTUNE_PROGRAM, "run", "--record", file()}, options), {"--"}), command));
  }
  TemporaryFolder folder_;
};

/// The calls of a kind that ranks made, of worlds of `ranks`; 0 if it is not recorded.
std::uint64_t calls_of(const Trace& trace, int ranks, const TracedCall& call) {
  std::uint64_t calls = 0;
  for (const TracedCalls& one : trace.calls)
    if (one.call == call && trace.worlds[one.world].ranks == ranks) calls += one.by_ranks.calls;
  return calls;
}

TracedCall reduction(TracedOperation operation, DataType type, ReduceOp op, std::uint64_t bytes) {
  return {.operation = operation, .data_type = type, .reduce_op = op, .message_size = {bytes}};
}
TracedCall movement(TracedOperation operation, std::uint64_t bytes) {
  return {.operation = operation, .message_size = {bytes}};
}
TracedCall irregular(TracedOperation operation, std::uint64_t bytes, CountShape counts) {
  return {.operation = operation, .message_size = {bytes}, .is_rounded = true, .counts = counts};
}

class RecordsOf : public Records, public ::testing::WithParamInterface<int> {};

TEST_P(RecordsOf, EveryCallIsListedAsAllRanksMadeIt) {
  using enum TracedOperation;
  const int ranks = GetParam();
  const auto n = static_cast<std::uint64_t>(ranks);
  const Ended ended = record(with(launch(ranks), {RECORDED_PROGRAM, "calls"}));
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("kinds of collective calls of " + std::to_string(ranks) +
                                      " ranks are recorded in " + file()));
  const Trace trace = load_trace(file());
  EXPECT_EQ(trace.ranks, ranks);
  EXPECT_EQ(trace.nodes, 1);
  EXPECT_EQ(trace.program, RECORDED_PROGRAM);
  EXPECT_EQ(trace.mpi_library, "Open MPI 4.1");
  const auto all = [&](const TracedCall& call) { return calls_of(trace, ranks, call); };
  EXPECT_EQ(all(reduction(all_reduce, DataType::f64, ReduceOp::sum, 24)), 11 * n);
  EXPECT_EQ(all(movement(broadcast, 400)), n);
  EXPECT_EQ(all(reduction(reduce, DataType::i64, ReduceOp::max, 40)), n);
  EXPECT_GE(all(movement(all_gather, 8 * n)), n) << "MPI_Comm_split has some of its own";
  EXPECT_EQ(all(movement(all_to_all, 16 * n)), n);
  EXPECT_EQ(all(movement(gather, 96 * n)), n);
  EXPECT_EQ(all(movement(scatter, 7 * n)), n);
  EXPECT_EQ(all(reduction(reduce_scatter, DataType::f32, ReduceOp::sum, 8 * n)), n);
  EXPECT_GE(all(irregular(all_gather_v, std::bit_floor(16 * n), CountShape::equal)), n);
  EXPECT_EQ(all({.operation = all_reduce, .data_type = DataType::f64, .message_size = {8}}), n)
      << "an operator of the program's own";
  EXPECT_EQ(all({.operation = all_reduce, .reduce_op = ReduceOp::sum, .message_size = {16}}), n)
      << "complex numbers";
  EXPECT_GE(all(movement(barrier, 0)), n);
  EXPECT_EQ(all(reduction(scan, DataType::f64, ReduceOp::sum, 8)), n);
  TracedCall nonblocking = reduction(all_reduce, DataType::f64, ReduceOp::sum, 16);
  nonblocking.is_nonblocking = true;
  EXPECT_EQ(all(nonblocking), n);
  nonblocking = irregular(all_to_all_w, 0, CountShape::equal);
  nonblocking.is_nonblocking = true;
  EXPECT_EQ(all(nonblocking), n);
  EXPECT_EQ(all(movement(neighbor_all_gather, 24)), n);
  const CountShape unequal = CountShape::one_large;
  TracedCall scattered =
      irregular(reduce_scatter_v, std::bit_floor(4 * (100 + 2 * (n - 1))), unequal);
  scattered.data_type = DataType::f32;
  scattered.reduce_op = ReduceOp::sum;
  EXPECT_EQ(all(scattered), n);
  EXPECT_EQ(all(irregular(gather_v, std::bit_floor(4 * (100 + 2 * (n - 1))), unequal)), 1u);
  EXPECT_EQ(all(irregular(gather_v, 8, CountShape::unseen)), n - 1);
  if (ranks % 2 == 0 && ranks > 2) {
    EXPECT_EQ(calls_of(trace, ranks / 2, reduction(all_reduce, DataType::i32, ReduceOp::min, 36)),
              n / 2 * 3);
    const auto half = std::ranges::find(trace.worlds, ranks / 2, &TracedWorld::ranks);
    ASSERT_NE(half, trace.worlds.end());
    EXPECT_EQ(half->communicators, 2u);
    EXPECT_EQ(half->ranks_per_node, ranks / 2);
  }
  std::chrono::nanoseconds inside{};
  for (const TracedCalls& one : trace.calls) inside += one.by_ranks.time;
  EXPECT_GT(inside.count(), 0);
  EXPECT_LE(inside, trace.rank_time);
}
TEST_P(RecordsOf, PersistentRequestsAndEachOfTheirStarts) {
  using enum TracedOperation;
  const int ranks = GetParam();
  const auto n = static_cast<std::uint64_t>(ranks);
  const Ended ended = record(with(launch(ranks), {RECORDED_PROGRAM, "persistent"}));
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const Trace trace = load_trace(file());
  const auto all = [&](TracedCall call, std::optional<PersistentStep> step) {
    call.is_nonblocking = true;
    call.persistent = step;
    return calls_of(trace, ranks, call);
  };
  const TracedCall sum = reduction(all_reduce, DataType::f64, ReduceOp::sum, 24);
  const TracedCall exchange = irregular(all_to_all_v, std::bit_floor(16 * n), CountShape::equal);
  EXPECT_EQ(all(movement(broadcast, 400), PersistentStep::making), n);
  EXPECT_EQ(all(movement(broadcast, 400), PersistentStep::start), 6 * n);
  EXPECT_EQ(calls_of(trace, ranks, movement(broadcast, 400)), 10 * n);
  EXPECT_EQ(all(sum, PersistentStep::making), n);
  EXPECT_EQ(all(sum, PersistentStep::start), n);
  EXPECT_EQ(all(sum, {}), 4 * n);
  EXPECT_EQ(all(exchange, PersistentStep::making), n);
  EXPECT_EQ(all(exchange, PersistentStep::start), n);
  EXPECT_EQ(all(movement(neighbor_all_gather, 24), PersistentStep::making), n);
  EXPECT_EQ(all(movement(neighbor_all_gather, 24), PersistentStep::start), 0u);
}
INSTANTIATE_TEST_SUITE_P(Ranks, RecordsOf, ::testing::Values(2, 3, 4, 8),
                         [](const auto& one) { return std::to_string(one.param); });

TEST_F(Records, NothingOfARankAlone) {
  ASSERT_EQ(record(with(launch(1), {RECORDED_PROGRAM, "calls"})).code, 0);
  const Trace trace = load_trace(file());
  EXPECT_EQ(trace.ranks, 1);
  EXPECT_TRUE(trace.calls.empty());
}

TEST_F(Records, WhatRunsTheWinners) {
  const Ended ended = record(with(launch(2), {RANDOM_PROGRAM, "300", "5"}),
                             {"--table", table(1), "--files", folder_.file("files")});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_THAT(ended.out, HasSubstr("300 calls, right"));
  EXPECT_THAT(ended.errors, HasSubstr(" ran by generation 1, table "));
  std::uint64_t calls = 0;
  for (const TracedCalls& one : load_trace(file()).calls) calls += one.by_ranks.calls;
  EXPECT_GT(calls, 300u);
}

TEST_F(Records, ManyCommunicatorsAndSizesInASmallFile) {
  ASSERT_EQ(record(with(launch(2), {RECORDED_PROGRAM, "communicators", "500"})).code, 0);
  Trace trace = load_trace(file());
  ASSERT_EQ(trace.worlds.size(), 1u) << "they lie alike";
  EXPECT_GE(trace.worlds[0].communicators, 500u);
  EXPECT_EQ(calls_of(trace, 2, movement(TracedOperation::broadcast, 4)), 1000u);

  ASSERT_EQ(record(with(launch(2), {RECORDED_PROGRAM, "sizes", "5000"})).code, 0);
  trace = load_trace(file());
  std::uint64_t calls = 0;
  for (const TracedCalls& one : trace.calls)
    if (one.call.operation == TracedOperation::all_reduce && !one.call.is_nonblocking)
      calls += one.by_ranks.calls;
  EXPECT_EQ(calls, 10000u);
  EXPECT_LE(trace.calls.size(), CallCounts::most);
  EXPECT_LT(std::filesystem::file_size(file()), 1'000'000u);
}

TEST_F(Records, NothingOfALaunchInWhichSomeRanksAreNotRecorded) {
  const Ended ended = run(with(
      with(with(launch(1), set("COLLTUNE_TRACE", file())),
           {"--mca", "mca_base_component_path", COMPONENT_FOLDER ":SYSTEM_DEFAULT:USER_DEFAULT",
            RECORDED_PROGRAM, ":", "-n", "1", RECORDED_PROGRAM}),
      {}));
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("colltune: nothing is recorded: " + file() +
                                      ": not all ranks run with the recorder"));
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(Records, TheProcessesThatSpawnedOthers) {
  const Ended ended = record(with(launch(1), {RECORDED_PROGRAM, "spawn"}));
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_THAT(ended.errors, HasSubstr("these processes were spawned"));
  EXPECT_EQ(load_trace(file()).ranks, 1);
}

TEST_F(Records, AProgramThatAbortsEndsAsWithoutUs) {
  EXPECT_EQ(record(with(launch(2), {RECORDED_PROGRAM, "abort"})).code, 3);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(Records, AFileThatCannotBeWrittenCostsTheProgramNothing) {
  std::filesystem::create_directory(folder_.file("trace.ctr.d"));
  const std::string inside = folder_.file("trace.ctr.d") + "/trace.ctr";
  const Ended ended = run(with({COLLTUNE_PROGRAM, "run", "--record", inside, "--"},
                               {"sh", "-c",
                                "rmdir " + folder_.file("trace.ctr.d") + "; exec " +
                                    std::string(MPIRUN_TEXT) + " -n 2 " RECORDED_PROGRAM}));
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.errors, HasSubstr("colltune: nothing is recorded: "));
  EXPECT_THAT(ended.errors, HasSubstr(inside));
}

TEST_F(Records, WhatCannotBeAFileIsRefusedBeforeTheProgramRuns) {
  for (const std::string& wrong : {folder_.file("none/t.ctr"), folder_.file("")}) {
    const Ended ended =
        run({COLLTUNE_PROGRAM, "run", "--record", wrong, "--", "touch", folder_.file("ran")});
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.errors, HasSubstr("--record: "));
  }
  const Ended both = record({"touch", folder_.file("ran")}, {"--ab", "2"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.errors, HasSubstr("--record and --ab"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("ran")));
}

}  // namespace
}  // namespace colltune::testing
