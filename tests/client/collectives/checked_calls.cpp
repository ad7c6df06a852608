// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "checked_calls.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "colltune/kernels/verification/oracle.h"
#include "colltune/vocabulary/problem.h"

namespace colltune::test {
namespace {

Problem problem_of(const CollectiveCall& call, bool in_place, int ranks) {
  const bool has_blocks = shape_of(call.collective).has_block_per_rank();
  return {.collective = call.collective,
          .data_type = call.data_type,
          .reduce_op = call.reduce_op,
          .message_size = {call.count * size_of(call.data_type) *
                           static_cast<std::size_t>(has_blocks ? ranks : 1)},
          .in_place = in_place};
}

bool can_be_in_place(const CollectiveCall& call, int rank) {
  const BlockLayout shape = shape_of(call.collective);
  return !shape.has_root || rank == call.root;
}

}  // namespace

std::vector<WantedCall> all_calls(int ranks, bool thorough) {
  std::vector<WantedCall> all;
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
  }
  return all;
}

CheckedBuffers::CheckedBuffers(const WantedCall& asked, int rank, int ranks,
                               const GetMemory& memory)
    : call_(asked.call),
      in_place_(asked.in_place && can_be_in_place(asked.call, rank)),
      rank_(rank),
      ranks_(ranks) {
  const auto get = [&](std::size_t bytes) -> std::span<std::byte> {
    if (memory) return memory(bytes);
    return own_.emplace_back(bytes);
  };
  const Problem problem = problem_of(call_, in_place_, ranks);
  const bool is_root = rank == call_.root;
  const std::size_t send = send_size(problem, ranks, is_root).value;
  const std::size_t receive = receive_size(problem, ranks, is_root).value;
  if (call_.collective == Collective::broadcast) {
    receive_ = get(receive);
    send_ = receive_.first(send);
  } else if (in_place_) {
    const std::span<std::byte> larger = get(std::max(send, receive));
    const std::size_t smaller = std::min(send, receive);
    const std::size_t place = send == receive ? 0 : static_cast<std::size_t>(rank) * smaller;
    send_ = send < receive ? larger.subspan(place, send) : larger;
    receive_ = receive < send ? larger.subspan(place, receive) : larger;
  } else {
    send_ = get(send);
    receive_ = get(receive);
  }
  call_.send = send == 0 || call_.collective == Collective::broadcast ? nullptr : send_.data();
  call_.receive = receive == 0 ? nullptr : receive_.data();
}

void CheckedBuffers::fill(std::uint64_t seed) {
  std::ranges::fill(receive_, std::byte{0xee});
  fill_send({.problem = problem_of(call_, in_place_, ranks_),
             .ranks = ranks_,
             .root = call_.root,
             .seed = seed},
            rank_, send_);
}

void CheckedBuffers::expect_result(std::uint64_t seed) const {
  if (receive_.empty()) return;
  const VerifiedCall verified{.problem = problem_of(call_, in_place_, ranks_),
                              .ranks = ranks_,
                              .root = call_.root,
                              .seed = seed};
  if (const auto wrong = find_mismatch(verified, rank_, Rounding::each_step, receive_))
    ADD_FAILURE() << describe(verified.problem) << ", root " << call_.root << ", rank " << rank_
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
