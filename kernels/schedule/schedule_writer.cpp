// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "schedule_writer.h"

#include <string>
#include <utility>

#include "colltune/vocabulary/error.h"
#include "step_blocks.h"

namespace colltune {
namespace {

[[noreturn]] void refuse(int rank, const char* what, const Block& block) {
  throw Error(StatusCode::internal, "a schedule lets rank " + std::to_string(rank) + ' ' + what +
                                        ' ' + describe(block) + ", which it cannot reach");
}

Block block_in(const std::vector<std::vector<Block>>& buffers, int rank, int index) {
  return buffers.at(static_cast<std::size_t>(rank)).at(static_cast<std::size_t>(index));
}

}  // namespace

ScheduleWriter::ScheduleWriter(const ScheduledCall& shape)
    : shape_(shape), scratch_blocks_(static_cast<std::size_t>(shape.ranks)) {
  if (only_root_knows_in_place(shape_.collective)) shape_.in_place = false;
  if (shape.slots < 2) throw Error(StatusCode::internal, "a schedule needs 2 slots or more");
  if (!shape.nodes.empty() && shape.nodes.size() != static_cast<std::size_t>(shape.ranks))
    throw Error(StatusCode::internal, "a schedule for " + std::to_string(shape.ranks) +
                                          " rank(s) has the nodes of " +
                                          std::to_string(shape.nodes.size()));
}

void ScheduleWriter::write_sub_call(const SubCall& sub_call,
                                    const std::function<void(ScheduleWriter&)>& algorithm) {
  if (sub_call_ != nullptr ||
      sub_call.ranks.size() != static_cast<std::size_t>(sub_call.shape.ranks))
    throw Error(StatusCode::internal,
                "a sub-call of a schedule must have its ranks, and no sub-calls");
  sub_call_ = &sub_call;
  try {
    algorithm(*this);
  } catch (...) {
    sub_call_ = nullptr;
    throw;
  }
  sub_call_ = nullptr;
}

int ScheduleWriter::rank_of(int rank) const {
  if (rank < 0 || rank >= ranks())
    throw Error(StatusCode::internal, "a schedule for " + std::to_string(ranks()) +
                                          " rank(s) names rank " + std::to_string(rank));
  return sub_call_ != nullptr ? sub_call_->ranks[static_cast<std::size_t>(rank)] : rank;
}

Block ScheduleWriter::input(int rank, int index) const {
  const int known = rank_of(rank);
  return sub_call_ != nullptr ? block_in(sub_call_->inputs, rank, index) : input_of(known, index);
}

Block ScheduleWriter::output(int rank, int index) const {
  const int known = rank_of(rank);
  return sub_call_ != nullptr ? block_in(sub_call_->outputs, rank, index) : output_of(known, index);
}

Block ScheduleWriter::temporary(int rank) { return temporary_of(rank_of(rank)); }

bool ScheduleWriter::maps(int rank, const Block& block) const {
  return is_mapped(rank_of(rank), block);
}

bool ScheduleWriter::can_fetch(int rank, const Block& block) const {
  const int known = rank_of(rank);
  return reaches(known, block) || !shape_.share_node(known, block.rank);
}

void ScheduleWriter::combine(const Block& to, std::vector<Block> from, bool is_last) {
  combine_as(to.rank, to, std::move(from), is_last);
}

void ScheduleWriter::combine_by(int rank, const Block& to, std::vector<Block> from, bool is_last) {
  combine_as(rank_of(rank), to, std::move(from), is_last);
}

Block ScheduleWriter::input_of(int rank, int index) const {
  if (shape_.in_place && shape_.collective == Collective::all_gather)
    return {rank, Space::receive, rank};
  return {rank, Space::send, index};
}

Block ScheduleWriter::output_of(int rank, int index) const {
  const Block own{rank, Space::receive, index};
  if (!shape_.in_place) return own;
  switch (shape_.collective) {
    case Collective::all_reduce:
    case Collective::all_to_all:
      return {rank, Space::send, index};
    case Collective::broadcast:
      return rank == shape_.root ? Block{rank, Space::send, index} : own;
    case Collective::reduce_scatter:
      return {rank, Space::send, rank};
    case Collective::all_gather:
    case Collective::reduce:  // only the root knows
    case Collective::gather:
    case Collective::scatter:
      break;
  }
  return own;
}

Block ScheduleWriter::temporary_of(int rank) {
  return {rank, Space::scratch, scratch_blocks_[static_cast<std::size_t>(rank)]++};
}

Block ScheduleWriter::publish(const Block& block) {
  if (block.space == Space::scratch || shape_.access != Access::staged || shape_.ranks == 1)
    return block;
  const Block copy = keep(block);
  shared_.emplace(copy, block);
  return copy;
}

Block ScheduleWriter::keep(const Block& block) {
  if (const int copied = touches_[block].scratch_copy; copied >= 0)
    return {block.rank, Space::scratch, copied};
  const Block kept = temporary_of(block.rank);
  copy(kept, block);
  touches_[block].scratch_copy = kept.index;
  return kept;
}

Block ScheduleWriter::original_of(const Block& shared) const {
  const auto found = shared_.find(shared);
  if (found == shared_.end()) return shared;
  const auto touches = touches_.find(found->second);
  const bool holds_the_same = touches != touches_.end() && shared.space == Space::scratch &&
                              touches->second.scratch_copy == shared.index;
  return holds_the_same ? found->second : shared;
}

bool ScheduleWriter::is_mapped(int rank, const Block& block) const {
  if (block.rank == rank) return true;
  return shape_.share_node(rank, block.rank) &&
         (block.space == Space::scratch || shape_.access == Access::direct);
}

bool ScheduleWriter::reaches(int rank, const Block& block) const {
  return is_mapped(rank, block) ||
         (shape_.share_node(rank, block.rank) && shape_.access == Access::cma);
}

void ScheduleWriter::note_write(const Block& block, std::size_t step) {
  Touches& touches = touches_[block];
  touches.writer = last_[memory_of(shape_, block)] = step;
  touches.scratch_copy = -1;
}

int ScheduleWriter::share_of(const Block& block) {
  if (block.space == Space::scratch) return touches_[block].share;
  // A buffer of one block has that of its rank.
  const BlockLayout shape = shape_of(shape_.collective);
  const bool has_all =
      block.space == Space::send ? shape.sends_block_per_rank : shape.receives_block_per_rank;
  return shape.has_block_per_rank() && !shape.has_root && !has_all ? block.rank : block.index;
}

void ScheduleWriter::add(int rank, Step step, int message) {
  const std::size_t index = written_.size();
  step.share = share_of(step.from.front());
  for_each_read(step, [&](const Block& block) {
    if (!reaches(rank, block)) refuse(rank, "read", block);
    last_[memory_of(shape_, block)] = index;
  });
  for_each_written(step, [&](const Block& block) {
    if (!reaches(rank, block)) refuse(rank, "write", block);
    note_write(block, index);
    touches_[block].share = step.share;
  });
  written_.push_back({std::move(step), rank, message});
}

void ScheduleWriter::send_message(const Block& to, const Block& from) {
  // A copy made for ranks of the same node is not needed for a message.
  const Block sent = original_of(from);
  const int message = messages_++;
  add(from.rank, {.kind = StepKind::send, .to = to, .from = {sent}}, message);
  add(to.rank, {.kind = StepKind::receive, .to = to, .from = {sent}}, message);
}

bool ScheduleWriter::joins_its_maker(int rank, const Block& to, const Block& from) {
  const std::size_t maker = touches_[from].writer;
  if (maker == none) return false;
  auto& [step, by, message] = written_[maker];
  if (by != rank || !combines(step.kind) || step.to != from || step.also_to || !is_mapped(rank, to))
    return false;
  const auto last = last_.find(memory_of(shape_, to));
  if (last != last_.end() && last->second >= maker) return false;
  step.also_to = to;
  note_write(to, maker);
  touches_[to].share = step.share;
  return true;
}

void ScheduleWriter::copy(const Block& to, const Block& from) {
  if (to == from || (to.rank == from.rank && joins_its_maker(to.rank, to, from))) return;
  if (!share_node(to, from)) return send_message(to, from);
  add(to.rank, {.kind = StepKind::copy, .to = to, .from = {from}});
}

void ScheduleWriter::push(const Block& to, const Block& from) {
  if (to == from || joins_its_maker(from.rank, to, from)) return;
  if (!share_node(to, from)) return send_message(to, from);
  add(from.rank, {.kind = StepKind::copy, .to = to, .from = {from}});
}

void ScheduleWriter::move(const Block& to, const Block& from, bool pushes) {
  if (to.rank == from.rank || !share_node(to, from)) {
    copy(to, from);
  } else if (!pushes) {
    copy(to, publish(from));
  } else if (reaches(from.rank, to)) {
    push(to, from);
  } else {
    const Block delivered = temporary_of(to.rank);
    push(delivered, from);
    copy(to, delivered);
  }
}

Block ScheduleWriter::local(int rank, const Block& block) {
  if (is_mapped(rank, block)) return block;
  const Block fetched = temporary_of(rank);
  copy(fetched, block);
  return fetched;
}

void ScheduleWriter::combine_as(int rank, const Block& to, std::vector<Block> from, bool is_last) {
  if (from.empty()) throw Error(StatusCode::internal, "a schedule combines nothing");
  if (!is_mapped(rank, to)) refuse(rank, "combine into", to);
  for (Block& block : from) block = local(rank, block);
  const bool is_all = is_last && (sub_call_ == nullptr || sub_call_->is_last);
  add(rank, {.kind = is_all ? StepKind::combine_last : StepKind::combine,
             .to = to,
             .from = std::move(from)});
}

std::vector<Block> part_of_each(const ScheduleWriter& writer) {
  std::vector<Block> parts;
  const bool has_shares = writer.shape().shares > 1;
  for (int rank = 0; rank < writer.ranks(); ++rank)
    parts.push_back(writer.output(rank, has_shares ? rank : 0));
  return parts;
}

void place_own_blocks(ScheduleWriter& writer) {
  for (int rank = 0; rank < writer.ranks(); ++rank)
    writer.copy(writer.output(rank, rank), writer.input(rank));
}

void combine_each(ScheduleWriter& writer, const std::vector<Block>& results) {
  const int ranks = writer.ranks();
  // First what the other ranks need: they start with it.
  for (int rank = 0; rank < ranks; ++rank)
    for (int distance = 1; distance < ranks; ++distance)
      (void)writer.publish(writer.input(rank, (rank + distance) % ranks));
  for (int block = 0; block < ranks; ++block) {
    std::vector<Block> sources;
    for (int rank = 0; rank < ranks; ++rank) {
      const Block input = writer.input(rank, block);
      sources.push_back(rank == block ? input : writer.publish(input));
    }
    writer.combine_by(block, results[static_cast<std::size_t>(block)], std::move(sources), true);
  }
}

}  // namespace colltune
