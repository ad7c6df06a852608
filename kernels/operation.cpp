// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/operation.h"

namespace colltune {
namespace {

[[noreturn]] void refuse(const Problem& next, const std::string& why) {
  throw Error(StatusCode::invalid_argument, describe(next) + ": " + why);
}

std::size_t sum_of(std::span<const std::size_t> blocks) {
  std::size_t sum = 0;
  for (const std::size_t block : blocks) sum += block;
  return sum;
}

}  // namespace

void check_blocks(const Call& call, int ranks) {
  const Problem& problem = call.problem;
  const std::size_t needed = problem.counts == Counts::equal ? 0 : static_cast<std::size_t>(ranks);
  if (call.blocks.size() != needed)
    refuse(problem, "it has the lengths of " + std::to_string(call.blocks.size()) +
                        " blocks, and needs those of " + std::to_string(needed));
  if (needed == 0) return;
  const std::size_t element = size_of(problem.data_type);
  std::uint64_t left = problem.message_size.value;
  for (const std::size_t block : call.blocks) {
    if (block % element != 0)
      refuse(problem, "a block of " + std::to_string(block) + " bytes is no whole elements");
    if (block > left) refuse(problem, "its blocks are larger than the message together");
    left -= block;
  }
  if (left != 0)
    refuse(problem,
           "its blocks are " + std::to_string(left) + " bytes smaller than the message together");
}

std::size_t check_rebound(const Call& prepared, const Call& next, int rank, int ranks) {
  const Problem& had = prepared.problem;
  const Problem& problem = next.problem;
  if (prepared.capacity == Bytes{})
    throw Error(StatusCode::failed_precondition,
                "this call was prepared for one size and one root: no capacity was given");
  if (problem.kind != had.kind || problem.collective != had.collective)
    refuse(problem, "the call was prepared for " + std::string(operation_name(had)));
  if (problem.registered != had.registered || problem.graph_capture != had.graph_capture)
    refuse(problem,
           "registered and graph_capture must be as when it was prepared: " + describe(had));
  if (problem.message_size > prepared.capacity)
    refuse(problem, "it was prepared for messages of up to " + format_bytes(prepared.capacity));
  if (next.root < 0 || next.root >= ranks)
    refuse(problem,
           "the root is rank " + std::to_string(next.root) + " of " + std::to_string(ranks));
  // Those of a mesh reduction are in its steps.
  const bool reduces =
      problem.kind == ProblemKind::collective && shape_of(problem.collective).reduces;
  if (reduces != (problem.reduce_op != ReduceOp::none))
    refuse(problem, reduces ? "it needs an operator" : "it takes no operator");
  if (problem.counts != Counts::equal && had.counts == Counts::equal) [[unlikely]]
    refuse(problem, "it was prepared for blocks of one length");
  if (problem.counts != Counts::equal || !next.blocks.empty()) check_blocks(next, ranks);
  // As send_size and receive_size, in one go: this is on the path of every short call.
  const BlockLayout shape = shape_of(problem.collective);
  const bool has_blocks = !next.blocks.empty();
  const std::size_t block = has_blocks
                                ? next.blocks[static_cast<std::size_t>(rank)]
                                : block_elements(problem, ranks) * size_of(problem.data_type);
  const std::size_t all_blocks =
      has_blocks ? sum_of(next.blocks) : block * static_cast<std::size_t>(ranks);
  const auto check_size = [&](const char* what, std::size_t got, bool only_root, bool per_rank) {
    const std::size_t needed = only_root && rank != next.root ? 0 : per_rank ? all_blocks : block;
    if (got != needed) [[unlikely]]
      refuse(problem, "it needs " + std::to_string(needed) + " bytes to " + what + ", not " +
                          std::to_string(got));
  };
  check_size("send", next.buffers.send.size(), shape.only_root_sends, shape.sends_block_per_rank);
  check_size("receive", next.buffers.receive.size(), shape.only_root_receives,
             shape.receives_block_per_rank);
  return block;
}

}  // namespace colltune
