// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/trace/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

namespace colltune {
namespace {

using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr TracedWorld pair_of_ranks{
    .ranks = 2, .nodes = 1, .ranks_per_node = 2, .communicators = 1};

TracedCall sum_of(std::uint64_t bytes) {
  return {.operation = TracedOperation::all_reduce,
          .data_type = DataType::f64,
          .reduce_op = ReduceOp::sum,
          .message_size = {bytes}};
}

Trace trace_of(const std::vector<TracedCalls>& calls, const std::vector<TracedWorld>& worlds) {
  return {.program = "./program",
          .mpi_library = "Open MPI 4.1",
          .ranks = 2,
          .nodes = 1,
          .rank_time = nanoseconds(1'000'000),
          .worlds = worlds,
          .calls = calls};
}

Trace two_calls() {
  return trace_of({{.world = 0, .call = sum_of(8), .by_ranks = {200, nanoseconds(5000)}},
                   {.world = 0,
                    .call = {.operation = TracedOperation::all_to_all_v,
                             .is_nonblocking = true,
                             .persistent = PersistentStep::start,
                             .message_size = {64},
                             .is_rounded = true,
                             .counts = CountShape::one_large},
                    .by_ranks = {2, nanoseconds(90)}}},
                  {pair_of_ranks});
}

TEST(CallCounts, SumUpWhatIsAlikeAndRoundIrregularSizes) {
  CallCounts counts;
  counts.add(0, sum_of(8), {1, nanoseconds(10)});
  counts.add(0, sum_of(8), {2, nanoseconds(20)});
  counts.add(1, sum_of(8), {4, nanoseconds(1)});
  TracedCall irregular{.operation = TracedOperation::gather_v, .message_size = {1000}};
  counts.add(0, irregular, {1, nanoseconds(5)});
  irregular.message_size = {513};
  counts.add(0, irregular, {1, nanoseconds(5)});
  const auto list = counts.list();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].by_ranks, (RankCalls{3, nanoseconds(30)}));
  EXPECT_EQ(list[1].call.message_size.value, 512u);
  EXPECT_TRUE(list[1].call.is_rounded);
  EXPECT_EQ(list[1].by_ranks.calls, 2u);
  EXPECT_EQ(list[2].world, 1u);
}

// Ten million calls of a million sizes: nothing is lost but their exact sizes, and a file stays
// small.
TEST(CallCounts, KeepBoundedMemory) {
  CallCounts counts;
  constexpr std::uint64_t sizes = 200'000;
  for (std::uint64_t size = 1; size <= sizes; ++size)
    counts.add(0, sum_of(8 * size), {50, nanoseconds(50)});
  const auto list = counts.list();
  EXPECT_LE(list.size(), CallCounts::most);
  std::uint64_t calls = counts.not_kept().calls;
  EXPECT_EQ(calls, 0u);
  for (const TracedCalls& one : list) calls += one.by_ranks.calls;
  EXPECT_EQ(calls, 50 * sizes);
  EXPECT_EQ(std::ranges::count(list, false, [](const auto& one) { return one.call.is_rounded; }),
            static_cast<std::ptrdiff_t>(CallCounts::most_exact));
  EXPECT_LT(to_text(trace_of(list, {pair_of_ranks})).size(), 1'000'000u);
}

TEST(CallCounts, CountWhatIsBeyondTheLimit) {
  CallCounts counts;
  for (std::uint32_t world = 0; world < CallCounts::most + 7; ++world)
    counts.add(world, sum_of(8), {2, nanoseconds(3)});
  EXPECT_EQ(counts.list().size(), CallCounts::most);
  EXPECT_EQ(counts.not_kept(), (RankCalls{14, nanoseconds(21)}));
}

TEST(Traces, OfTwoPartsAreMergedByWorldAndCall) {
  Trace other = two_calls();
  other.worlds.insert(other.worlds.begin(), {.ranks = 4, .nodes = 2, .ranks_per_node = 2});
  other.calls[0].world = 1;
  other.calls[1].world = 0;
  other.not_kept = {3, nanoseconds(9)};
  const Trace all = merged(two_calls(), other);
  EXPECT_EQ(all.rank_time, nanoseconds(2'000'000));
  EXPECT_EQ(all.not_kept.calls, 3u);
  ASSERT_EQ(all.worlds.size(), 2u);
  EXPECT_EQ(all.worlds[0].communicators, 2u);
  ASSERT_EQ(all.calls.size(), 3u);
  EXPECT_EQ(all.calls[0].by_ranks, (RankCalls{400, nanoseconds(10000)}));
  EXPECT_EQ(all.calls[2].world, 1u);
  EXPECT_EQ(unpack_trace(pack(all)), all);
  EXPECT_EQ(parse_trace(to_text(all), "t"), all);
}

TEST(Traces, AreProblemsOrSayWhyNot) {
  const auto why = [](TracedCall call, TracedWorld world = pair_of_ranks) {
    return problem_of(call, world).why_not;
  };
  const TracedProblem sum = problem_of(sum_of(24), pair_of_ranks);
  ASSERT_FALSE(sum.why_not);
  EXPECT_EQ(describe(sum.problem), "all_reduce f64 sum 24");
  TracedCall moved{.operation = TracedOperation::all_gather, .message_size = {16}};
  EXPECT_EQ(problem_of(moved, pair_of_ranks).problem.data_type, DataType::f32);
  moved.message_size = {12};  // 6 bytes of each rank
  EXPECT_EQ(problem_of(moved, pair_of_ranks).problem.data_type, DataType::u8);
  EXPECT_TRUE(
      problem_of({.operation = TracedOperation::broadcast, .message_size = {4}}, pair_of_ranks)
          .problem.in_place);

  TracedCall call = sum_of(8);
  call.is_nonblocking = true;
  EXPECT_EQ(why(call), Unserved::nonblocking);
  call.persistent = PersistentStep::start;
  EXPECT_EQ(why(call), Unserved::persistent);
  call = sum_of(8);
  call.data_type.reset();
  EXPECT_EQ(why(call), Unserved::not_in_vocabulary);
  EXPECT_EQ(why({.operation = TracedOperation::scatter_v}), Unserved::irregular);
  EXPECT_EQ(why({.operation = TracedOperation::barrier}), Unserved::other_operation);
  EXPECT_EQ(why({.operation = TracedOperation::gather}), Unserved::no_element);
  EXPECT_EQ(why(sum_of(8), {.ranks = 1, .nodes = 1, .ranks_per_node = 1}), Unserved::one_rank);
  EXPECT_EQ(why(sum_of(8), {.ranks = 3, .nodes = 2}), Unserved::uneven_placement);
}

TEST(Traces, OfUnequalCountsAreProblemsWhereAllRanksKnowThem) {
  TracedCall call{.operation = TracedOperation::all_gather_v,
                  .message_size = {1024},
                  .is_rounded = true,
                  .counts = CountShape::one_large};
  EXPECT_EQ(describe(problem_of(call, pair_of_ranks).problem), "all_gather one_large f32 1KiB");
  call.counts = CountShape::mixed;
  EXPECT_EQ(problem_of(call, pair_of_ranks).problem.counts, Counts::random);
  call.counts = CountShape::equal;
  EXPECT_EQ(describe(problem_of(call, pair_of_ranks).problem), "all_gather f32 1KiB");
  call.counts = CountShape::unseen;
  EXPECT_EQ(problem_of(call, pair_of_ranks).why_not, Unserved::irregular);
  call.operation = TracedOperation::reduce_scatter_v;
  call.counts = CountShape::mixed;
  EXPECT_EQ(problem_of(call, pair_of_ranks).why_not, Unserved::not_in_vocabulary);
  call.data_type = DataType::f64;
  call.reduce_op = ReduceOp::max;
  EXPECT_EQ(describe(problem_of(call, pair_of_ranks).problem),
            "reduce_scatter random f64 max 1KiB");
  call.message_size = {8};
  EXPECT_EQ(problem_of(call, pair_of_ranks).why_not, Unserved::no_element);
  call.operation = TracedOperation::all_to_all_v;
  EXPECT_EQ(problem_of(call, pair_of_ranks).why_not, Unserved::irregular);
}

/// The error of a text in which `from` is replaced by `to`.
std::string error_with(const std::string& from, const std::string& to) {
  std::string text = to_text(two_calls());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
  text.replace(at, from.size(), to);
  try {
    (void)parse_trace(text, "t.ctr");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    return error.what();
  }
  return "none";
}

TEST(Traces, ThatAreWrongAreRefusedWithThePlace) {
  EXPECT_THAT(error_with("\"version\":1", "\"version\":2"),
              HasSubstr("t.ctr: /version: 2 is not known; allowed is 1"));
  EXPECT_THAT(error_with("\"operation\":\"all_reduce\"", "\"operation\":\"allreduce\""),
              HasSubstr("t.ctr:/calls/0/call/operation: unknown traced operation 'allreduce'; "
                        "allowed are all_reduce"));
  EXPECT_THAT(error_with("\"world\":0", "\"world\":1"),
              HasSubstr("t.ctr: /calls/0/world: 1 is none of the 1 worlds"));
  EXPECT_THAT(error_with("\"calls\":200", "\"calls\":0"),
              HasSubstr("t.ctr: /calls/0/by_ranks: allowed are at least one call"));
  EXPECT_THAT(error_with("\"time_ns\":90", "\"time_ns\":-1"),
              HasSubstr("t.ctr: /calls/1/by_ranks"));
  EXPECT_THAT(error_with("\"ranks_per_node\":2", "\"ranks_per_node\":3"),
              HasSubstr("t.ctr: /worlds/0: 2 ranks, 1 nodes, 3 on each; they do not fit together"));
  EXPECT_THAT(error_with("\"nodes\":1,\"not", "\"nodes\":3,\"not"),
              HasSubstr("t.ctr: /ranks: 2 ranks on 3 nodes"));
  EXPECT_THAT(
      error_with("\"is_nonblocking\":false", "\"is_nonblocking\":false,\"persistent\":\"start\""),
      HasSubstr("t.ctr: /calls/0/call/is_nonblocking: false; a call with a persistent"));
  EXPECT_THAT(error_with("\"program\"", "\"programm\""), HasSubstr("program"));
  EXPECT_THAT(error_with("}\n", ""),
              HasSubstr("t.ctr: no trace as 'colltune run --record' writes"));
  EXPECT_THROW((void)load_trace("/no/such/trace"), Error);
  EXPECT_THROW((void)load_trace("/"), Error);
  EXPECT_THROW((void)unpack_trace("x"), Error);
}

}  // namespace
}  // namespace colltune
