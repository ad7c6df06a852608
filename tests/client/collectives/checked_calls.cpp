// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "checked_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "colltune/kernels/verification/oracle.h"
#include "colltune/vocabulary/problem.h"

namespace colltune::test {
namespace {

/// What is called, without a seed.
VerifiedCall verified_call(const CollectiveCall& call, bool in_place, int ranks) {
  const std::size_t element = size_of(call.data_type);
  const bool has_blocks = shape_of(call.collective).has_block_per_rank();
  VerifiedCall verified{
      .problem = {.collective = call.collective,
                  .data_type = call.data_type,
                  .reduce_op = call.reduce_op,
                  .message_size = {call.count * element *
                                   static_cast<std::size_t>(has_blocks ? ranks : 1)},
                  .in_place = in_place},
      .ranks = ranks,
      .root = call.root};
  if (!call.counts) return verified;
  for (const std::size_t count : *call.counts) {
    verified.blocks.push_back(count * element);
    verified.problem.message_size.value += verified.blocks.back();
  }
  verified.problem.counts = counts_class(verified.blocks);
  if (verified.problem.counts == Counts::equal) verified.blocks.clear();
  return verified;
}

/// By rank: rising, one large one at either end, empty ones between others, all but one empty, none
/// at all, alike.
std::vector<std::vector<std::size_t>> all_counts(int ranks, bool thorough) {
  const auto size = static_cast<std::size_t>(ranks);
  std::vector<std::vector<std::size_t>> all(7, std::vector<std::size_t>(size));
  for (std::size_t rank = 0; rank < size; ++rank) {
    all[0][rank] = 5 + 7 * rank;
    all[1][rank] = rank == 0 ? 600 : 3;
    all[2][rank] = rank + 1 < size ? 1 : thorough ? 40000 : 400;
    all[3][rank] = rank % 2 == 0 ? 0 : 41;
    all[4][rank] = rank + 1 < size ? 0 : 29;
    all[6][rank] = 37;
  }
  return all;
}

bool can_be_in_place(const CollectiveCall& call, int rank) {
  const BlockLayout shape = shape_of(call.collective);
  return !shape.has_root || rank == call.root;
}

}  // namespace

std::vector<WantedCall> all_calls(int ranks, bool thorough) {
  std::vector<WantedCall> all;
  const std::vector<std::vector<std::size_t>> lists = all_counts(ranks, thorough);
  const auto add_with_counts = [&](CollectiveCall call, const std::vector<std::size_t>& counts) {
    call.count = 0;
    for (const bool in_place : {false, true}) all.push_back({call, in_place, counts});
  };
  const auto add = [&](CollectiveCall call) {
    const bool has_root = shape_of(call.collective).has_root;
    for (const int root : {0, ranks - 1}) {
      call.root = root;
      for (const bool in_place : {false, true})
        if (!in_place || call.collective != Collective::broadcast) all.push_back({call, in_place});
      if (!has_root || ranks == 1) break;
    }
  };
  for (const auto& collective : enum_names(Collective{})) {
    const bool reduces = shape_of(collective.value).reduces;
    for (const auto& type : enum_names(DataType{})) {
      if (!thorough && type.value != DataType::bf16 && type.value != DataType::i32) continue;
      if (!reduces) {
        add({.collective = collective.value, .data_type = type.value, .count = 37});
        continue;
      }
      for (const auto& op : enum_names(ReduceOp{}))
        if (op.value != ReduceOp::none)
          add({.collective = collective.value,
               .data_type = type.value,
               .reduce_op = op.value,
               .count = 37});
    }
    for (const std::size_t count : {std::size_t{1}, std::size_t{600}, std::size_t{40000}}) {
      if (!thorough && count > 600) continue;
      add({.collective = collective.value,
           .data_type = DataType::f32,
           .reduce_op = reduces ? ReduceOp::sum : ReduceOp::none,
           .count = count});
    }
    if (!may_have_unequal_counts({.collective = collective.value})) continue;
    for (const std::vector<std::size_t>& counts : lists)
      add_with_counts({.collective = collective.value,
                       .data_type = DataType::f32,
                       .reduce_op = reduces ? ReduceOp::sum : ReduceOp::none},
                      counts);
    for (const auto& type : enum_names(DataType{}))
      for (const ReduceOp op : {ReduceOp::max, ReduceOp::avg})
        if (thorough && (reduces || op == ReduceOp::max))
          add_with_counts({.collective = collective.value,
                           .data_type = type.value,
                           .reduce_op = reduces ? op : ReduceOp::none},
                          lists[op == ReduceOp::max ? 0 : 3]);
  }
  return all;
}

std::vector<WantedCall> of_unequal_counts(std::span<const WantedCall> asked) {
  std::vector<WantedCall> found;
  for (const WantedCall& one : asked)
    if (counts_class(one.counts) != Counts::equal) found.push_back(one);
  return found;
}

CheckedBuffers::CheckedBuffers(const WantedCall& asked, int rank, int ranks,
                               const GetMemory& memory)
    : call_(asked.call),
      counts_(asked.counts),
      in_place_(asked.in_place && can_be_in_place(asked.call, rank)),
      rank_(rank),
      ranks_(ranks) {
  const auto get = [&](std::size_t bytes) -> std::span<std::byte> {
    if (memory) return memory(bytes);
    return own_.emplace_back(bytes);
  };
  if (!counts_.empty()) call_.counts = counts_;
  const VerifiedCall what = verified(0);
  const std::size_t send = send_size(what.problem, ranks, what.blocks, rank, call_.root).value;
  const std::size_t receive =
      receive_size(what.problem, ranks, what.blocks, rank, call_.root).value;
  if (call_.collective == Collective::broadcast) {
    receive_ = get(receive);
    send_ = receive_.first(send);
  } else if (in_place_) {
    const std::span<std::byte> larger = get(std::max(send, receive));
    const std::size_t smaller = std::min(send, receive);
    const auto before =
        std::span(what.blocks).first(what.blocks.empty() ? 0 : static_cast<std::size_t>(rank));
    const std::size_t place = send == receive ? 0
                              : what.blocks.empty()
                                  ? static_cast<std::size_t>(rank) * smaller
                                  : std::accumulate(before.begin(), before.end(), std::size_t{0});
    send_ = send < receive ? larger.subspan(place, send) : larger;
    receive_ = receive < send ? larger.subspan(place, receive) : larger;
  } else {
    send_ = get(send);
    receive_ = get(receive);
  }
  call_.send = send == 0 || call_.collective == Collective::broadcast ? nullptr : send_.data();
  call_.receive = receive == 0 ? nullptr : receive_.data();
}

VerifiedCall CheckedBuffers::verified(std::uint64_t seed) const {
  VerifiedCall what = verified_call(call_, in_place_, ranks_);
  what.seed = seed;
  return what;
}

void CheckedBuffers::fill(std::uint64_t seed) {
  std::ranges::fill(receive_, std::byte{0xee});
  fill_send(verified(seed), rank_, send_);
}

void CheckedBuffers::expect_result(std::uint64_t seed) const {
  if (receive_.empty()) return;
  const VerifiedCall what = verified(seed);
  if (const auto wrong = find_mismatch(what, rank_, Rounding::each_step, receive_))
    ADD_FAILURE() << describe(what.problem) << ", root " << call_.root << ", rank " << rank_
                  << " of " << ranks_ << ": element " << wrong->element << " is " << wrong->got
                  << ", not " << wrong->expected;
}

void expect_all(Collectives& collectives, std::span<const WantedCall> asked) {
  std::uint64_t seed = 0;
  for (const WantedCall& one : asked) {
    CheckedBuffers buffers(one, collectives.rank(), collectives.size());
    buffers.fill(++seed);
    collectives.run(buffers.call());
    buffers.expect_result(seed);
  }
}

int expect_all_persistent(Collectives& collectives, std::span<const WantedCall> asked,
                          const GetMemory& memory) {
  std::uint64_t seed = 0;
  int ours = 0;
  for (const WantedCall& one : asked) {
    CheckedBuffers buffers(one, collectives.rank(), collectives.size(), memory);
    PersistentCall call = collectives.prepare(buffers.call());
    if (!call.variant().empty()) ++ours;
    for (int repetition = 0; repetition < 3; ++repetition) {
      buffers.fill(++seed);
      call.start();
      call.wait();
      buffers.expect_result(seed);
    }
  }
  return ours;
}

}  // namespace colltune::test
