// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "colltune/vocabulary/variant.h"
#include "schedule.h"

namespace colltune {

/// The interface for writing an algorithm: the steps of all ranks for one wave, one after the
/// other, in an order in which a single thread could do them. Which step waits for which follows
/// from the blocks that the steps read and write, so an algorithm states no signals and cannot
/// forget any. Since all ranks keep to the same order, nothing can deadlock.
///
/// A block that another rank reads must be one that `publish` returned. Ranks of different nodes
/// read each other's blocks through messages. Throws Error(internal) if an algorithm breaks these
/// rules.
class ScheduleWriter {
 public:
  /// A subset of the ranks, for an algorithm that is written among them only: it sees them as ranks
  /// 0, 1, ... of a separate call.
  struct SubCall {
    std::vector<int> ranks;  ///< of the schedule
    ScheduledCall shape;     ///< of the sub-call's; nodes, access and slots are the
                             ///< schedule's
    /// Its buffers: blocks by rank of the sub-call and index.
    std::vector<std::vector<Block>> inputs;
    std::vector<std::vector<Block>> outputs;
    /// Whether a result of the sub-call combines all ranks' inputs.
    bool is_last = false;
  };

  explicit ScheduleWriter(const ScheduledCall& shape);

  [[nodiscard]] const ScheduledCall& shape() const {
    return sub_call_ != nullptr ? sub_call_->shape : shape_;
  }
  [[nodiscard]] int ranks() const { return shape().ranks; }
  /// Lets `algorithm` write for `sub_call`. Sub-calls do not nest.
  void write_sub_call(const SubCall& sub_call,
                      const std::function<void(ScheduleWriter&)>& algorithm);

  /// Block `index` of a rank's send or receive buffer. In a buffer with a block per rank it is the
  /// block of rank `index`; in a buffer of one block, that block; in a message without blocks,
  /// share `index`. In place, both functions return the same block, unless only the root knows of
  /// it: an algorithm then must not read a block of the root's input after it has written the block
  /// of the output that takes its place.
  [[nodiscard]] Block input(int rank, int index = 0) const;
  [[nodiscard]] Block output(int rank, int index = 0) const;
  /// A block of scratch memory of `rank`, initially empty; all ranks can read and write it.
  [[nodiscard]] Block temporary(int rank);

  /// Whether `rank` can load from and store to `block` as in its own memory.
  [[nodiscard]] bool maps(int rank, const Block& block) const;
  /// Whether `rank` can copy `block` from where it is, mapped or not.
  [[nodiscard]] bool can_fetch(int rank, const Block& block) const;

  /// A block with the data of `block` that all ranks can read: `block` itself if they can read it,
  /// else a copy in scratch memory that its rank makes at this point. A block that is published
  /// twice without a change is copied once.
  [[nodiscard]] Block publish(const Block& block);
  /// Always a copy in scratch memory, for data that its rank is about to overwrite.
  [[nodiscard]] Block keep(const Block& block);

  /// The rank of `to` copies.
  void copy(const Block& to, const Block& from);
  /// The rank of `from` copies, into memory that it can reach.
  void push(const Block& to, const Block& from);
  /// Brings a block to another rank: that rank fetches it, or (`pushes`) the owner stores it there.
  void move(const Block& to, const Block& from, bool pushes = false);
  /// The rank of `to` combines `from`, left to right, by the reduce op. `is_last`: the result
  /// contains all ranks' inputs, so avg divides.
  void combine(const Block& to, std::vector<Block> from, bool is_last);
  /// The same, done by `rank`, which maps `to`.
  void combine_by(int rank, const Block& to, std::vector<Block> from, bool is_last);

  /// The schedule so far, with all waits.
  [[nodiscard]] Schedule schedule() const;

 private:
  struct Written {
    Step step;
    int rank = 0;      ///< the rank that does it
    int message = -1;  ///< number among all messages
  };
  /// What is known of a block; steps as indices into `written_`.
  struct Touches {
    std::size_t writer = none;
    int scratch_copy = -1;  ///< block of the rank's scratch memory that holds the same bytes
    int share = 0;          ///< which share's size it has (Step::share)
  };
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  class Waits;

  /// Converts a rank of the sub-call to a rank of the schedule.
  [[nodiscard]] int rank_of(int rank) const;
  // The functions below use ranks of the schedule.
  [[nodiscard]] Block input_of(int rank, int index) const;
  [[nodiscard]] Block output_of(int rank, int index) const;
  [[nodiscard]] Block temporary_of(int rank);
  [[nodiscard]] bool is_mapped(int rank, const Block& block) const;
  [[nodiscard]] bool reaches(int rank, const Block& block) const;
  [[nodiscard]] bool share_node(const Block& one, const Block& other) const {
    return shape_.share_node(one.rank, other.rank);
  }
  void combine_as(int rank, const Block& to, std::vector<Block> from, bool is_last);
  void add(int rank, Step step, int message = -1);
  void send_message(const Block& to, const Block& from);
  /// The block of which `shared` is a copy, if that still holds the same data; else `shared`
  /// itself.
  [[nodiscard]] Block original_of(const Block& shared) const;
  /// Lets the step that produced `from` write `to` as well, if that has the same effect.
  [[nodiscard]] bool joins_its_maker(int rank, const Block& to, const Block& from);
  [[nodiscard]] Block local(int rank, const Block& block);
  [[nodiscard]] int share_of(const Block& block);
  void note_write(const Block& block, std::size_t step);

  ScheduledCall shape_;
  const SubCall* sub_call_ = nullptr;
  std::vector<Written> written_;
  std::map<Block, Touches> touches_;
  std::map<Block, std::size_t> last_;  ///< step that read or wrote the memory of a block
  std::map<Block, Block> shared_;      ///< from each copy that `share` made to its original
  std::vector<int> scratch_blocks_;    ///< by rank
  int messages_ = 0;
};

/// The block of each rank's result of a reduce-scatter: its output, or its share of the output.
[[nodiscard]] std::vector<Block> part_of_each(const ScheduleWriter& writer);

/// Each rank copies its own block to its place in the gathered output.
void place_own_blocks(ScheduleWriter& writer);

/// Rank i combines block i of all ranks' inputs into results[i], in rank order.
void combine_each(ScheduleWriter& writer, const std::vector<Block>& results);

/// For ScheduledAlgorithm::shares.
[[nodiscard]] inline int one_share_per_rank(const ScheduledCall& shape, const Variant&) {
  return shape.ranks;
}

}  // namespace colltune
