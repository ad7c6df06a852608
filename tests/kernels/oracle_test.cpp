// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/verification/oracle.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "colltune/kernels/arithmetic/number_format.h"
#include "colltune/kernels/arithmetic/reduction.h"
#include "support/sanitizer.h"

namespace colltune {
namespace {

VerifiedCall make_call(Collective collective, DataType type, ReduceOp op, std::size_t elements,
                       int ranks) {
  const BlockLayout shape = shape_of(collective);
  const bool is_split = shape.has_block_per_rank();
  VerifiedCall call;
  call.problem = {.collective = collective, .data_type = type, .reduce_op = op};
  call.problem.message_size = {elements * size_of(type) *
                               (is_split ? static_cast<std::size_t>(ranks) : 1)};
  call.ranks = ranks;
  call.root = ranks - 1;
  call.seed = 5;
  return call;
}

std::vector<std::byte> sent_by(const VerifiedCall& call, int rank) {
  std::vector<std::byte> send(send_size(call.problem, call.ranks, rank == call.root).value);
  fill_send(call, rank, send);
  return send;
}

/// The collective by its definition, on the inputs of all ranks.
std::vector<std::byte> reference(const VerifiedCall& call, int rank) {
  const std::size_t count = block_elements(call.problem, call.ranks);
  const std::size_t block = count * size_of(call.problem.data_type);
  const std::size_t own = block * static_cast<std::size_t>(rank);
  std::vector<std::byte> receive(receive_size(call.problem, call.ranks, rank == call.root).value);
  if (receive.empty()) return receive;
  std::vector<std::vector<std::byte>> sends;
  for (int r = 0; r < call.ranks; ++r) sends.push_back(sent_by(call, r));
  const auto place = [&](std::size_t to, const std::vector<std::byte>& from, std::size_t offset) {
    std::memcpy(receive.data() + to, from.data() + offset, block);
  };
  const auto reduce_at = [&](std::size_t offset) {
    std::vector<const std::byte*> sources;
    for (const auto& send : sends) sources.push_back(send.data() + offset);
    reduce_in_rank_order(sources, receive.data(), count,
                         {call.problem.data_type, call.problem.reduce_op, call.ranks});
  };
  const auto& root = sends[static_cast<std::size_t>(call.root)];
  switch (call.problem.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
      reduce_at(0);
      break;
    case Collective::reduce_scatter:
      reduce_at(own);
      break;
    case Collective::broadcast:
      place(0, root, 0);
      break;
    case Collective::scatter:
      place(0, root, own);
      break;
    case Collective::all_gather:
    case Collective::gather:
    case Collective::all_to_all:
      for (std::size_t r = 0; r < sends.size(); ++r)
        place(r * block, sends[r], call.problem.collective == Collective::all_to_all ? own : 0);
      break;
  }
  return receive;
}

std::vector<VerifiedCall> every_call(std::size_t elements, int ranks) {
  std::vector<VerifiedCall> calls;
  for (const auto& collective : enum_names(Collective{}))
    for (const auto& type : enum_names(DataType{}))
      for (const auto& op : enum_names(ReduceOp{}))
        if (shape_of(collective.value).reduces == (op.value != ReduceOp::none))
          calls.push_back(make_call(collective.value, type.value, op.value, elements, ranks));
  return calls;
}

TEST(Oracle, AcceptsTheDefinitionOfEveryCollective) {
  for (const int ranks : {1, 2, 3, 8})
    for (const VerifiedCall& call : every_call(17, ranks))
      for (int rank = 0; rank < ranks; ++rank) {
        const auto mismatch = find_mismatch(call, rank, Rounding::exact, reference(call, rank));
        ASSERT_FALSE(mismatch) << describe(call.problem) << " element " << mismatch->element << ": "
                               << mismatch->got << ", not " << mismatch->expected;
      }
}

TEST(Oracle, FindsACorruptedElementWhereverItIs) {
  for (const VerifiedCall& call : every_call(19, 3)) {
    const std::vector<std::byte> right = reference(call, call.root);
    const std::size_t size = size_of(call.problem.data_type);
    for (std::size_t element = 0; element < right.size() / size; element += 6) {
      std::vector<std::byte> wrong = right;
      wrong[element * size] ^= std::byte{1};
      const auto mismatch = find_mismatch(call, call.root, Rounding::exact, wrong);
      ASSERT_TRUE(mismatch) << describe(call.problem) << " element " << element;
      EXPECT_EQ(mismatch->element, element);
      EXPECT_NE(mismatch->expected, mismatch->got);
    }
  }
}

TEST(Oracle, FindsTheLastElementOfManyPeriods) {
  const VerifiedCall call =
      make_call(Collective::all_reduce, DataType::f32, ReduceOp::sum, 20'001, 2);
  std::vector<std::byte> receive = reference(call, 0);
  EXPECT_FALSE(find_mismatch(call, 0, Rounding::exact, receive));
  receive.back() ^= std::byte{0x40};
  const auto mismatch = find_mismatch(call, 0, Rounding::exact, receive);
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->element, 20'000U);
}

TEST(Oracle, TheCallBeforeNeverPasses) {
  for (const VerifiedCall& call : every_call(1, 2)) {
    VerifiedCall next = call;
    ++next.seed;
    // The parity of a sum may be lost where integers are averaged with a remainder.
    if (call.problem.reduce_op == ReduceOp::avg && !is_floating(call.problem.data_type) &&
        size_of(call.problem.data_type) > 1)
      continue;
    EXPECT_TRUE(find_mismatch(next, call.root, Rounding::exact, reference(call, call.root)))
        << describe(call.problem);
  }
}

TEST(Oracle, FindsSwappedBlocks) {
  const VerifiedCall call = make_call(Collective::all_gather, DataType::u8, ReduceOp::none, 64, 2);
  std::vector<std::byte> receive = reference(call, 0);
  std::swap_ranges(receive.begin(), receive.begin() + 64, receive.begin() + 64);
  EXPECT_TRUE(find_mismatch(call, 0, Rounding::exact, receive));
}

TEST(Oracle, FindsARankLeftOut) {
  constexpr int ranks = 5;
  for (const VerifiedCall& call : every_call(101, ranks)) {
    if (call.problem.collective != Collective::all_reduce) continue;
    for (int missing = 0; missing < ranks; ++missing) {
      std::vector<std::vector<std::byte>> sends;
      std::vector<const std::byte*> sources;
      for (int r = 0; r < ranks; ++r)
        if (r != missing) sends.push_back(sent_by(call, r));
      for (const auto& send : sends) sources.push_back(send.data());
      std::vector<std::byte> result(sends.front().size());
      reduce_in_rank_order(sources, result.data(), 101,
                           {call.problem.data_type, call.problem.reduce_op, ranks});
      EXPECT_TRUE(find_mismatch(call, 0, Rounding::exact, result))
          << describe(call.problem) << " without rank " << missing;
    }
  }
}

/// Reduces from the last rank to the first and, where `each_step` is set, rounds at every step.
std::vector<std::byte> reduce_backwards(const VerifiedCall& call, bool each_step) {
  std::vector<std::vector<std::byte>> sends;
  for (int r = call.ranks; r-- > 0;) sends.push_back(sent_by(call, r));
  const std::size_t count = block_elements(call.problem, call.ranks);
  const DataType type = call.problem.data_type;
  std::vector<std::byte> result = sends.front();
  if (!each_step) {
    std::vector<const std::byte*> sources;
    for (const auto& send : sends) sources.push_back(send.data());
    reduce_in_rank_order(sources, result.data(), count, {type, call.problem.reduce_op, call.ranks});
    return result;
  }
  const bool averages = call.problem.reduce_op == ReduceOp::avg;
  const ReduceOp step = averages ? ReduceOp::sum : call.problem.reduce_op;
  for (std::size_t i = 1; i < sends.size(); ++i) {
    const std::vector<const std::byte*> two{result.data(), sends[i].data()};
    reduce_in_rank_order(two, result.data(), count, {type, step, 2});
  }
  if (averages) divide_by_ranks(result.data(), count, type, call.ranks);
  return result;
}

TEST(Oracle, ExactDataHaveOneResultInAnyOrderUpTo1024Ranks) {
  if (test::has_thread_sanitizer) GTEST_SKIP() << "it has one thread";
  for (const int ranks : test::has_sanitizer ? std::vector{2, 7, 64} : std::vector{2, 7, 64, 1024})
    for (const auto& type : enum_names(DataType{}))
      for (const ReduceOp op :
           {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg}) {
        const VerifiedCall call = make_call(Collective::all_reduce, type.value, op, 40, ranks);
        for (const bool each_step : {false, true})
          ASSERT_FALSE(find_mismatch(call, 0, Rounding::exact, reduce_backwards(call, each_step)))
              << describe(call.problem) << " on " << ranks << " ranks";
      }
}

TEST(Oracle, RoundingDataTellOnceFromEachStep) {
  int meaningful = 0;
  for (const int ranks : {2, 3, 5, 8})
    for (const auto& type : enum_names(DataType{}))
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::avg}) {
        VerifiedCall call = make_call(Collective::all_reduce, type.value, op, 40, ranks);
        call.pattern = DataPattern::rounding;
        if (!is_meaningful(call)) continue;
        ++meaningful;
        const auto each_step = reduce_backwards(call, true);
        EXPECT_TRUE(find_mismatch(call, 0, Rounding::once, each_step)) << describe(call.problem);
        EXPECT_FALSE(find_mismatch(call, 0, Rounding::each_step, each_step))
            << describe(call.problem);
        EXPECT_FALSE(find_mismatch(call, 0, Rounding::once, reduce_backwards(call, false)));
      }
  EXPECT_EQ(meaningful, 3 * 4 * 2);  // ranks from 3 on, four narrow types, sum and avg
}

TEST(Oracle, EachStepHasABound) {
  VerifiedCall call = make_call(Collective::all_reduce, DataType::bf16, ReduceOp::sum, 40, 3);
  call.pattern = DataPattern::rounding;
  std::vector<std::byte> result = reduce_backwards(call, true);
  const BFloat16 wrong = round_to<BFloat16>(300);
  std::memcpy(result.data() + 14, &wrong, sizeof wrong);
  const auto mismatch = find_mismatch(call, 0, Rounding::each_step, result);
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->element, 7U);
}

TEST(Oracle, AZeroOfEitherSignPassesWhereNumbersAreReduced) {
  const VerifiedCall call =
      make_call(Collective::all_reduce, DataType::f8e5m2, ReduceOp::sum, 4000, 2);
  std::vector<std::byte> result = reference(call, 0);
  int zeros = 0;
  for (std::byte& element : result)
    if ((element & std::byte{0x7f}) == std::byte{}) {
      ++zeros;
      element ^= std::byte{0x80};
    }
  EXPECT_GT(zeros, 0);
  EXPECT_FALSE(find_mismatch(call, 0, Rounding::exact, result));
}

TEST(Oracle, RefusesBuffersOfAnotherSize) {
  const VerifiedCall call = make_call(Collective::all_reduce, DataType::f32, ReduceOp::sum, 4, 2);
  std::vector<std::byte> buffer(12);
  EXPECT_THROW(fill_send(call, 0, buffer), Error);
  EXPECT_THROW((void)find_mismatch(call, 0, Rounding::exact, buffer), Error);
}

}  // namespace
}  // namespace colltune
