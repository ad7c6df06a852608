// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// `colltune show trace`: what a recorded program called, and what decisions are worth to it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli_fixture.h"
#include "colltune/trace/trace.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Result;

class TraceReport : public testing::Cli {
 protected:
  TraceReport() {
    const TracedCall sum{.operation = TracedOperation::all_reduce,
                         .data_type = DataType::f32,
                         .reduce_op = ReduceOp::sum,
                         .message_size = {1024}};
    TracedCall other_size = sum;
    other_size.message_size = {7};
    TracedCall nonblocking = sum;
    nonblocking.is_nonblocking = true;
    const Topology world = testing::test_key(1024).topology;
    const Trace trace{
        .program = "./program",
        .mpi_library = "Open MPI 4.1",
        .ranks = world.ranks,
        .nodes = world.nodes,
        .rank_time = nanoseconds(world.ranks * 10'000'000LL),
        .worlds = {{.ranks = world.ranks,
                    .nodes = world.nodes,
                    .ranks_per_node = world.ranks_per_node,
                    .communicators = 1}},
        .calls = {calls(other_size, 100, 10, world.ranks), calls(sum, 2000, 3000, world.ranks),
                  calls(nonblocking, 5, 1000, world.ranks)}};
    std::ofstream(file()) << to_text(trace);
  }
  /// So many calls of a communicator, that took each rank so many microseconds in all.
  static TracedCalls calls(const TracedCall& call, int count, int microseconds, int ranks) {
    return {.world = 0,
            .call = call,
            .by_ranks = {static_cast<std::uint64_t>(count * ranks),
                         nanoseconds(1000LL * microseconds * ranks)}};
  }
  [[nodiscard]] std::string file() const { return folder.file("trace.ctr"); }
  /// all_reduces of 1 KiB: 1 us by a winner of ours, 2 us by default.
  void publish_winner() const {
    RankedVariant winner = testing::ranked("cpu.all_reduce_one_shot{n=2}", 1000, 2);
    winner.family = "colltune";
    RankedVariant usual = testing::ranked("mpi.all_reduce", 2000, 1);
    usual.is_baseline = true;
    usual.family = "mpi";
    Decision decision = testing::decision(testing::test_key(1024), {winner, usual});
    decision.verdict = Verdict::displaced;
    Store store(database);
    store.put_environment(testing::test_environment());
    store.begin_sweep(testing::sweep("sweep-1", "2026-01-01T00:00:00Z"));
    store.finish_sweep("sweep-1", SweepState::complete, "2026-01-01T00:01:00Z", "{}");
    store.publish(std::vector{decision}, "2026-01-01T00:01:00Z");
  }
};

TEST_F(TraceReport, ListsTheCallsByTheirTime) {
  const Result shown = colltune({"show", "trace", file()});
  EXPECT_EQ(shown.code, 0) << shown.errors;
  EXPECT_THAT(shown.out, HasSubstr("./program: "));
  EXPECT_THAT(shown.out, HasSubstr("10.000 ms from MPI_Init to MPI_Finalize, 4.010 ms of them "
                                   "(40.1 %) in collectives"));
  EXPECT_THAT(shown.out, HasSubstr("75.1 % of the time in collectives is of calls that variants "
                                   "serve; of others: nonblocking 24.9 %"));
  EXPECT_THAT(shown.out, HasSubstr("2000     1.50  74.8 %  all_reduce f32 sum 1KiB\n"));
  EXPECT_LT(shown.out.find("all_reduce f32 sum 1KiB"), shown.out.find("iall_reduce"));
  EXPECT_THAT(shown.out, Not(HasSubstr("saved")));
}

TEST_F(TraceReport, SaysWhatDecisionsAreWorth) {
  publish_winner();
  const Result shown = colltune({"show", "trace", file(), "--db", database, "--wide"});
  EXPECT_EQ(shown.code, 0) << shown.errors;
  // 2000 calls of 1 us instead of 2.
  EXPECT_THAT(shown.out, HasSubstr("2.000  all_reduce f32 sum 1KiB: 2.00 us by default, 1.00 by "
                                   "cpu.all_reduce_one_shot{n=2}"));
  EXPECT_THAT(shown.out, HasSubstr("all_reduce f32 sum 7: not measured"));
  EXPECT_THAT(shown.out, HasSubstr("no variant serves it (nonblocking)"));
  EXPECT_THAT(shown.out, HasSubstr("saves 2.000 ms of a rank's 4.010 ms in collectives (49.9 %)"));
  EXPECT_THAT(shown.out, HasSubstr("not measured: 0.2 % of the time in collectives"));

  const auto json =
      nlohmann::json::parse(colltune({"show", "trace", file(), "--db", database, "--json"}).out);
  EXPECT_EQ(json.at("calls").at(0).at("winner"), "cpu.all_reduce_one_shot{n=2}");
  EXPECT_EQ(json.at("calls").at(0).at("saved_ns_per_rank"), 2'000'000);
  EXPECT_EQ(json.at("calls").at(1).at("not_served"), "nonblocking");
  EXPECT_EQ(json.at("calls").at(2).at("is_measured"), false);
}

TEST_F(TraceReport, NamesThePersistentOnes) {
  Trace trace = load_trace(file());
  TracedCalls& made = trace.calls.at(2);
  made.call.is_nonblocking = true;
  made.call.persistent = PersistentStep::making;
  trace.calls.push_back(made);
  trace.calls.back().call.persistent = PersistentStep::start;
  std::ofstream(file()) << to_text(trace);
  const Result shown = colltune({"show", "trace", file()});
  EXPECT_EQ(shown.code, 0) << shown.errors;
  EXPECT_THAT(shown.out, HasSubstr("all_reduce_init f32 sum 1KiB\n"));
  EXPECT_THAT(shown.out, HasSubstr("start of all_reduce f32 sum 1KiB\n"));
  EXPECT_THAT(shown.out, HasSubstr("; of others: persistent 39.9 %"));
}

TEST_F(TraceReport, RefusesWhatIsNoTraceOrNoOrigin) {
  Result shown = colltune({"show", "trace", folder.file("none.ctr")});
  EXPECT_EQ(shown.code, 2);
  EXPECT_THAT(shown.errors, HasSubstr("none.ctr: no file that can be read"));
  std::ofstream(folder.file("empty.ctr")) << "";
  shown = colltune({"show", "trace", folder.file("empty.ctr")});
  EXPECT_EQ(shown.code, 2);
  EXPECT_THAT(shown.errors, HasSubstr("empty.ctr: no trace as 'colltune run --record' writes it"));
  shown = colltune({"show", "trace", file(), "--db", database, "--table", "x.ctt"});
  EXPECT_EQ(shown.code, 2);
}

}  // namespace
}  // namespace colltune
