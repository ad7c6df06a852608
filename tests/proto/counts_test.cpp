// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/problem.h"

namespace colltune::test {
namespace {

using Blocks = std::vector<std::size_t>;

TEST(CountsClass, IsOfTheLengthsAlone) {
  EXPECT_EQ(counts_class({}), Counts::equal);
  EXPECT_EQ(counts_class(Blocks{7}), Counts::equal);
  EXPECT_EQ(counts_class(Blocks{0, 0, 0}), Counts::equal);
  EXPECT_EQ(counts_class(Blocks{4, 4, 4}), Counts::equal);
  EXPECT_EQ(counts_class(Blocks{4, 4, 8}), Counts::one_large);  // just half, twice the others
  EXPECT_EQ(counts_class(Blocks{8, 0, 0, 0}), Counts::one_large);
  EXPECT_EQ(counts_class(Blocks{4, 4, 7}), Counts::random);
  EXPECT_EQ(counts_class(Blocks{4, 5}), Counts::random);
  EXPECT_EQ(counts_class(Blocks{4, 8}), Counts::one_large);
  EXPECT_EQ(counts_class(Blocks{0, 8}), Counts::one_large);
  EXPECT_EQ(counts_class(Blocks{0, 8, 8}), Counts::one_large);
  EXPECT_EQ(counts_class(Blocks{1, 8, 8}), Counts::random);
}

TEST(TypicalBlocks, AreOfTheirClassAndSumUpExactly) {
  for (const Counts counts : {Counts::one_large, Counts::random})
    for (int ranks = 2; ranks <= 130; ++ranks)
      for (const std::uint64_t size : {16U, 40U, 4096U, 1048576U, 1000004U}) {
        const Bytes whole =
            round_message_size(Collective::all_gather, DataType::f32, {size}, ranks, counts);
        const auto smallest = static_cast<std::uint64_t>(ranks) * 16;
        if (size >= smallest) {
          EXPECT_EQ(whole.value, size) << ranks << ' ' << name_of(counts);
        }
        if (whole.value == 0) continue;
        const Problem problem{.collective = Collective::all_gather,
                              .data_type = DataType::f32,
                              .reduce_op = ReduceOp::none,
                              .message_size = whole,
                              .counts = counts};
        const Blocks blocks = typical_blocks(problem, ranks);
        ASSERT_EQ(blocks.size(), static_cast<std::size_t>(ranks));
        EXPECT_EQ(counts_class(blocks), counts);
        EXPECT_EQ(std::accumulate(blocks.begin(), blocks.end(), std::size_t{0}), size);
        EXPECT_TRUE(std::ranges::all_of(blocks, [](std::size_t one) { return one % 4 == 0; }));
      }
}

TEST(TypicalBlocks, AreTheSameEverywhere) {
  const auto blocks_of = [](Counts counts, int ranks) {
    return typical_blocks({.collective = Collective::all_gather,
                           .data_type = DataType::u8,
                           .message_size = {1000},
                           .counts = counts},
                          ranks);
  };
  EXPECT_EQ(blocks_of(Counts::one_large, 2), (Blocks{250, 750}));
  EXPECT_EQ(blocks_of(Counts::one_large, 4), (Blocks{83, 83, 84, 750}));
  EXPECT_EQ(blocks_of(Counts::equal, 4), Blocks{});
  EXPECT_EQ(blocks_of(Counts::random, 1), Blocks{});
  // Databases of several machines hold times of the same blocks.
  EXPECT_EQ(digest_of_text(canonical_text(blocks_of(Counts::random, 64))),
            "17dad4d7745b9ee5060b243b299d649c");
}

TEST(Counts, AreOfTwoCollectivesAlone) {
  Problem problem{
      .collective = Collective::all_gather, .reduce_op = ReduceOp::none, .counts = Counts::random};
  EXPECT_NO_THROW(check(problem));
  problem.collective = Collective::reduce_scatter;
  problem.reduce_op = ReduceOp::sum;
  EXPECT_NO_THROW(check(problem));
  problem.collective = Collective::all_reduce;
  try {
    check(problem);
    ADD_FAILURE() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    EXPECT_EQ(std::string(error.what()),
              "the counts of all_reduce are equal, not random; unequal ones are for all_gather "
              "and reduce_scatter");
  }
}

TEST(Counts, ThatAreEqualAreLeftOutOfCanonicalTexts) {
  Problem problem;
  EXPECT_EQ(canonical_text(problem).find("counts"), std::string::npos);
  problem.counts = Counts::one_large;
  EXPECT_NE(canonical_text(problem).find("counts=one_large;"), std::string::npos);
}

TEST(Counts, SayTheSizesOfBuffers) {
  const Blocks blocks{4, 0, 12};
  const Problem gather{.collective = Collective::all_gather,
                       .reduce_op = ReduceOp::none,
                       .message_size = {16},
                       .counts = Counts::one_large};
  EXPECT_EQ(send_size(gather, 3, blocks, 2, 0).value, 12U);
  EXPECT_EQ(send_size(gather, 3, blocks, 1, 0).value, 0U);
  EXPECT_EQ(receive_size(gather, 3, blocks, 1, 0).value, 16U);
  Problem scatter = gather;
  scatter.collective = Collective::reduce_scatter;
  scatter.reduce_op = ReduceOp::sum;
  EXPECT_EQ(send_size(scatter, 3, blocks, 0, 0).value, 16U);
  EXPECT_EQ(receive_size(scatter, 3, blocks, 0, 0).value, 4U);
  EXPECT_THROW((void)send_size(gather, 3), Error);
}

}  // namespace
}  // namespace colltune::test
