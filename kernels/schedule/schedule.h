// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "colltune/vocabulary/collective.h"

namespace colltune {

/// How a rank reaches the buffers of another rank of its node. Data of other nodes comes in
/// messages.
enum class Access {
  staged = 0,  ///< not directly: the data is copied into symmetric memory first
  direct = 1,  ///< mapped: the buffers themselves lie in symmetric memory
  cma = 2,     ///< the kernel copies from process to process (Cross Memory Attach)
};
constexpr std::array<Named<Access>, 3> enum_names(Access) {
  return {{{Access::staged, "staged"}, {Access::direct, "direct"}, {Access::cma, "cma"}}};
}
constexpr std::string_view enum_title(Access) { return "access"; }

enum class Space : std::uint8_t { send, receive, scratch };

/// One block of one rank's memory. A schedule counts blocks only; their size in bytes differs from
/// wave to wave (a message is cut into waves of a chunk each).
struct Block {
  int rank = 0;
  Space space = Space::send;
  int index = 0;
  friend auto operator<=>(const Block&, const Block&) = default;
};

/// Whether only the root passes arguments that say whether the call is in place: a schedule must
/// then be right in both cases.
[[nodiscard]] constexpr bool only_root_knows_in_place(Collective collective) {
  return collective == Collective::reduce || collective == Collective::gather ||
         collective == Collective::scatter;
}

/// A collective call, as far as its schedule depends on it.
struct ScheduledCall {
  Collective collective = Collective::all_reduce;
  int ranks = 1;
  int root = 0;
  /// How many blocks each wave is cut into, for messages without blocks of their own (all_reduce,
  /// reduce, broadcast).
  int shares = 1;
  /// Without meaning where only the root knows.
  bool in_place = false;
  Access access = Access::staged;
  /// Slots of scratch memory, which the waves use in turn; at least 2, so that the next wave can be
  /// filled while one is under way. From 4 on, a rank that has filled a slot together with its
  /// peers need not ask whether the slot's previous wave was read: a peer's steps before its waits
  /// come after its rest of two waves before.
  int slots = 4;
  /// The node of each rank; empty: all on one node.
  std::vector<int> nodes{};
  /// For an algorithm by levels: the group of each rank, from 0 on; empty: all in one group.
  std::vector<int> groups{};

  [[nodiscard]] bool share_node(int one, int other) const {
    return nodes.empty() ||
           nodes[static_cast<std::size_t>(one)] == nodes[static_cast<std::size_t>(other)];
  }
  friend auto operator<=>(const ScheduledCall&, const ScheduledCall&) = default;
};

/// `before_waits`: a rank's steps before the first one that waits for a peer's step of the same
/// wave.
/// `rest`: the steps from there on. These steps of a wave run before the rest of the wave before
/// it, so one wave is filled while another is under way.
enum class WavePhase : std::uint8_t { before_waits, rest };

/// The wave of the awaited step.
enum class Lag : std::uint8_t {
  same_wave,
  slot_before,   ///< the previous wave that used the same slot of scratch memory
  start_of_call  ///< no step: waits until the rank has started the call
};

/// Wait until `rank` has done the step at `position` (from 1; 0: it has reached the wave).
struct Await {
  int rank = 0;
  WavePhase phase = WavePhase::before_waits;
  int position = 0;
  Lag lag = Lag::same_wave;
  friend auto operator<=>(const Await&, const Await&) = default;
};

enum class StepKind : std::uint8_t {
  copy,
  combine,       ///< combines the sources by the reduce op, from left to right; avg only adds
  combine_last,  ///< the same for a result of all ranks: avg also divides by their number
  send,          ///< sends `from` in a message to the rank of `to` on another node
  receive,       ///< receives a message into `to`
};

/// The unit of work of one rank.
struct Step {
  StepKind kind = StepKind::copy;
  Block to;
  std::optional<Block> also_to{};  ///< receives the same bytes
  std::vector<Block> from;
  std::vector<Await> awaits{};  ///< waits before the step
  bool is_awaited = false;      ///< by another rank's step
  /// Which share of the message determines its size, or the rank whose block does if the message
  /// has a block per rank.
  int share = 0;
  /// Of a message: its number among this rank's messages of the wave; its tag is its number among
  /// the messages of the wave between the same two ranks in the same direction.
  int message = -1;
  int tag = 0;
  /// Of a receive: no step of the wave touches `to` before it, so the message may arrive at any
  /// time.
  bool is_free_before = false;
  std::vector<int>
      overtakes{};  ///< sends of this wave that must be done first: it overwrites their data
};

/// One rank's part of a schedule.
struct RankSchedule {
  std::array<std::vector<Step>, 2> phases;  ///< by WavePhase
  bool is_start_awaited = false;
  /// Waits before the call may end: until the peers no longer need this rank's buffers.
  std::vector<Await> at_end;
  int messages = 0;  ///< of this rank, in one wave
};

/// The steps of all ranks for one wave, and what each step waits for.
struct Schedule {
  std::vector<RankSchedule> ranks;
  int scratch_blocks = 0;  ///< per rank, for one wave
  int tags = 0;            ///< of messages, in one wave
  /// The longest chain of steps that wait for one another across ranks.
  int depth = 0;
};

}  // namespace colltune
