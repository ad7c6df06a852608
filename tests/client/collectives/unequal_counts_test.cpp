// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The public collectives, over threads, with a count for each rank. Their plain calls are among
// those of rank_threads_test.cpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

#include "checked_calls.h"
#include "colltune/collectives/collectives.h"
#include "on_threads.h"

namespace colltune {
namespace {

using test::all_calls;
using test::failure_of;
using test::of_unequal_counts;
using test::on_threads;
using test::sum_once;
using test::table_for;
using test::TableOnDisk;
using test::WantedCall;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(UnequalCounts, RunWinners) {
  const TableOnDisk table(table_for(3));
  std::vector<WantedCall> asked;
  for (const WantedCall& one : of_unequal_counts(all_calls(3)))
    if (one.call.data_type == DataType::f32 && one.call.reduce_op != ReduceOp::max &&
        one.call.reduce_op != ReduceOp::avg)
      asked.push_back(one);
  ASSERT_GE(asked.size(), 2U * 2U * 5U);
  EXPECT_THAT(
      on_threads(3, {.table = table.path(), .numerics = ProgramNumerics::any},
                 [&](Collectives& collectives) {
                   expect_all(collectives, asked);
                   EXPECT_THAT(collectives.report(),
                               AllOf(HasSubstr("report of rank"), HasSubstr("cpu.all_gather"),
                                     HasSubstr("cpu.reduce_scatter")));
                   EXPECT_GT(expect_all_persistent(collectives, asked),
                             static_cast<int>(asked.size()) / 4);
                   // In memory that all ranks map, of one size; what has empty blocks in place is
                   // not.
                   constexpr Bytes largest{1U << 18U};
                   std::vector<SymmetricBuffer> memory;
                   EXPECT_GT(
                       expect_all_persistent(collectives, asked,
                                             [&](std::size_t bytes) {
                                               memory.push_back(collectives.allocate(largest));
                                               return memory.back().bytes().first(bytes);
                                             }),
                       static_cast<int>(asked.size()) / 4);
                 }),
      Each(""));
}

TEST(UnequalCounts, AreRefusedOnAllRanksIfNoRankCouldGiveThem) {
  constexpr std::size_t huge = std::size_t{1} << 60U;
  EXPECT_THAT(
      on_threads(
          2, {},
          [](Collectives& collectives) {
            std::array<float, 8> from{};
            std::array<float, 8> to{};
            const auto gather = [&](std::span<const std::size_t> counts) {
              return failure_of(
                  [&] { collectives.all_gather(from.data(), to.data(), counts, DataType::f32); });
            };
            const auto scatter = [&](std::span<const std::size_t> counts) {
              return failure_of([&] {
                collectives.reduce_scatter(from.data(), to.data(), counts, DataType::f32,
                                           ReduceOp::sum);
              });
            };
            const std::array<std::size_t, 3> many{1, 2, 3};
            EXPECT_EQ(gather(many),
                      "3: all_gather: the list has 3 counts; it needs one for each of the 2 ranks");
            EXPECT_THAT(scatter(std::span(many).first(1)),
                        HasSubstr("reduce_scatter: the list has 1 counts"));
            EXPECT_THAT(gather(std::span(many).first(0)), HasSubstr("the list has 0 counts"));
            EXPECT_EQ(scatter({}),
                      "3: reduce_scatter: the list of counts is null; it needs one "
                      "for each of the 2 ranks");
            EXPECT_THAT(gather(std::array{huge * 2, std::size_t{1}}),
                        AllOf(StartsWith("3: "), HasSubstr("elements of rank 0"),
                              HasSubstr("more than an address space holds")));
            EXPECT_THAT(scatter(std::array{huge, huge}),
                        AllOf(StartsWith("3: "), HasSubstr("elements of rank 1"),
                              HasSubstr("more than an address space holds")));
            EXPECT_THAT(scatter(std::array{~std::size_t{0}, std::size_t{2}}),
                        HasSubstr("more than an address space holds"));
            CollectiveCall call{.collective = Collective::all_gather,
                                .data_type = DataType::f32,
                                .count = 4,
                                .send = from.data(),
                                .receive = to.data(),
                                .counts = std::span(many).first(2)};
            EXPECT_THAT(failure_of([&] { collectives.run(call); }),
                        HasSubstr("the count is 4 beside a list of counts; it must be 0 then"));
            EXPECT_THAT(failure_of([&] { (void)collectives.prepare(call); }),
                        HasSubstr("the count is 4 beside a list of counts"));
            call.collective = Collective::all_to_all;
            call.count = 0;
            EXPECT_THAT(failure_of([&] { (void)collectives.prepare(call); }),
                        HasSubstr("all_to_all takes no list of counts; all_gather and "
                                  "reduce_scatter do"));
            sum_once(collectives);
          }),
      Each(""));
}

TEST(UnequalCounts, TellWhereTheBlockOfACallInPlaceLies) {
  EXPECT_THAT(on_threads(2, {},
                         [](Collectives& collectives) {
                           std::array<float, 8> all{};
                           const std::array<std::size_t, 2> counts{3, 5};
                           // The block of rank 1 begins behind that of rank 0.
                           const std::size_t place = collectives.rank() == 0 ? 0 : 2;
                           EXPECT_THAT(
                               failure_of([&] {
                                 (void)collectives.prepare({.collective = Collective::all_gather,
                                                            .data_type = DataType::f32,
                                                            .send = all.data() + place,
                                                            .receive = all.data(),
                                                            .counts = counts});
                               }),
                               AllOf(StartsWith("3: "),
                                     HasSubstr(collectives.rank() == 0 ? "another rank's buffers"
                                                                       : "the rank's own block")));
                           sum_once(collectives);
                         }),
              Each(""));
}

}  // namespace
}  // namespace colltune
