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

/// What an algorithm is written with: the steps of all ranks for one wave, one after the other in
/// an order in which a single thread could do them. Who waits for whom follows from which blocks
/// the steps read and write, so that an algorithm states no signal and can forget none; and since
/// all ranks keep to the one order, nothing can deadlock.
///
/// A block that another rank reads must be one that `share` has returned. What ranks of different
/// nodes read of each other goes in messages. Throws Error(internal) where an algorithm breaks the
/// rules.
class ScheduleWriter {
 public:
  /// Some ranks' part in a schedule, for an algorithm that is drawn among them alone: it sees them
  /// as ranks 0, 1, ... of a call of its own.
  struct Part {
    std::vector<int> ranks;  ///< of the schedule
    ScheduledCall shape;             ///< of the part's call; nodes, access and slots stay the schedule's
    /// Its buffers: blocks by rank of the part and index.
    std::vector<std::vector<Block>> inputs;
    std::vector<std::vector<Block>> outputs;
    /// Whether a result of the part is all ranks'.
    bool is_last = false;
  };

  explicit ScheduleWriter(const ScheduledCall& shape);

  [[nodiscard]] const ScheduledCall& shape() const { return part_ != nullptr ? part_->shape : shape_; }
  [[nodiscard]] int ranks() const { return shape().ranks; }
  /// Lets `algorithm` draw for `part`. Parts do not nest.
  void draw_part(const Part& part, const std::function<void(ScheduleWriter&)>& algorithm);

  /// Block `index` of a rank's send or receive buffer: of a buffer with a block per rank the one of
  /// rank `index`, of one block that one, of a message without blocks the share `index`. In place
  /// both names stand for the same block.
  [[nodiscard]] Block input(int rank, int index = 0) const;
  [[nodiscard]] Block output(int rank, int index = 0) const;
  /// A block of scratch memory of `rank`, empty at first; all ranks can read and write it.
  [[nodiscard]] Block temporary(int rank);

  /// Whether `rank` can load from and store to `block` as from its own memory.
  [[nodiscard]] bool maps(int rank, const Block& block) const;
  /// Whether `rank` can copy `block` from where it is, shared or not.
  [[nodiscard]] bool can_fetch(int rank, const Block& block) const;

  /// What all ranks can read instead of `block`: itself where they can; else a copy in scratch
  /// memory, which its rank makes at this point. Shared twice without a change, it is copied once.
  [[nodiscard]] Block share(const Block& block);
  /// A copy in scratch memory in any case, for what its rank is about to overwrite.
  [[nodiscard]] Block keep(const Block& block);

  /// The rank of `to` copies.
  void copy(const Block& to, const Block& from);
  /// The rank of `from` copies, into what it can reach.
  void push(const Block& to, const Block& from);
  /// Brings a block to another rank: it fetches the block, or (`pushes`) is given it.
  void move(const Block& to, const Block& from, bool pushes = false);
  /// The rank of `to` combines `from`, left to right, by the reduce op. `is_last`: the result holds
  /// what all ranks gave, so that an avg divides.
  void combine(const Block& to, std::vector<Block> from, bool is_last);
  /// The same by `rank`, which maps `to`.
  void combine_by(int rank, const Block& to, std::vector<Block> from, bool is_last);

  /// The schedule so far, with all waits.
  [[nodiscard]] Schedule schedule() const;

 private:
  struct Written {
    Step step;
    int rank = 0;      ///< who does it
    int message = -1;  ///< which one, of all
  };
  /// Who touched a block last, as an index into `written_`.
  struct Touches {
    std::size_t writer = none;
    std::size_t last = none;  ///< of any kind
    int scratch_copy = -1;    ///< block of the rank's scratch memory that holds the same bytes
    int share = 0;            ///< whose size it has
  };
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  class Waits;

  /// The schedule's number of a rank of the part.
  [[nodiscard]] int rank_of(int rank) const;
  // The rest counts ranks as the schedule does.
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
  /// What `shared` is a copy of, where that still holds the same; else itself.
  [[nodiscard]] Block original_of(const Block& shared) const;
  /// Lets the step that made `from` write `to` as well, where that is the same.
  [[nodiscard]] bool joins_its_maker(int rank, const Block& to, const Block& from);
  [[nodiscard]] Block local(int rank, const Block& block);
  [[nodiscard]] int share_of(const Block& block);
  void note_write(const Block& block, std::size_t step);

  ScheduledCall shape_;
  const Part* part_ = nullptr;
  std::vector<Written> written_;
  std::map<Block, Touches> touches_;
  std::map<Block, Block> shared_;    ///< copies that `share` made: of what
  std::vector<int> scratch_blocks_;  ///< by rank
  int messages_ = 0;
};

/// Where each rank's part of a reduce-scatter belongs: its output, or its share of it.
[[nodiscard]] std::vector<Block> part_of_each(const ScheduleWriter& writer);

/// Each rank's own block gets to its place in what all gather.
void place_own_blocks(ScheduleWriter& writer);

/// Rank i combines block i of everybody's input into results[i], in rank order.
void combine_each(ScheduleWriter& writer, const std::vector<Block>& results);

/// For ScheduledAlgorithm::shares.
[[nodiscard]] inline int one_share_per_rank(const ScheduledCall& shape, const Variant&) {
  return shape.ranks;
}

}  // namespace colltune
