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

/// How a rank reaches what lies in the buffers of another one of its node. What lies on another
/// node comes in messages.
enum class Access {
  staged = 0,  ///< not at all: it is copied into symmetric memory first
  direct = 1,  ///< mapped: the buffers lie in symmetric memory themselves
  cma = 2,     ///< the kernel copies from process to process (Cross Memory Attach)
};
constexpr std::array<Named<Access>, 3> enum_names(Access) {
  return {{{Access::staged, "staged"}, {Access::direct, "direct"}, {Access::cma, "cma"}}};
}
constexpr std::string_view enum_title(Access) { return "access"; }

enum class Space : std::uint8_t { send, receive, scratch };

/// One block of one rank's memory. How many bytes that is differs from wave to wave (a message is
/// cut into waves of a chunk each); a schedule counts blocks only.
struct Block {
  int rank = 0;
  Space space = Space::send;
  int index = 0;
  friend auto operator<=>(const Block&, const Block&) = default;
};

/// A collective's call as its schedule sees it.
struct ScheduledCall {
  Collective collective = Collective::all_reduce;
  int ranks = 1;
  int root = 0;
  /// Into how many blocks each wave of a message without blocks of its own is cut (all_reduce,
  /// reduce, broadcast).
  int shares = 1;
  bool in_place = false;
  Access access = Access::staged;
  /// Slots of scratch memory, taken in turn by the waves; at least 2: while a wave is under way the
  /// next one is filled. From 4 on, who has filled a slot with its peers has no need to ask whether
  /// the slot before was read: a peer's lead comes after its rest of two waves before.
  int slots = 4;
  /// The node of each rank; empty: all on one.
  std::vector<int> nodes{};
  /// Of an algorithm by levels: the group of each rank, from 0 on; empty: all in one.
  std::vector<int> groups{};

  [[nodiscard]] bool share_node(int one, int other) const {
    return nodes.empty() ||
           nodes[static_cast<std::size_t>(one)] == nodes[static_cast<std::size_t>(other)];
  }
  friend auto operator<=>(const ScheduledCall&, const ScheduledCall&) = default;
};

/// A rank's steps before the first that has to wait for what a peer does in the same wave, and
/// those from there on. The first ones of a wave run before the other ones of the wave before: so
/// one wave is filled while another one is under way.
enum class WavePhase : std::uint8_t { lead, rest };

/// Which wave's step is awaited.
enum class Lag : std::uint8_t {
  same_wave,
  slot_before,   ///< the wave that used the same slot of scratch memory before
  start_of_call  ///< none: that the rank has started the call
};

/// Wait until `rank` has done the step at `position` (from 1; 0: it has come to the wave).
struct Await {
  int rank = 0;
  WavePhase phase = WavePhase::lead;
  int position = 0;
  Lag lag = Lag::same_wave;
  friend auto operator<=>(const Await&, const Await&) = default;
};

enum class StepKind : std::uint8_t {
  copy,
  combine,       ///< the sources by the reduce op, from left to right; avg only adds
  combine_last,  ///< the same where the result is all ranks': avg divides by their number, too
  send,          ///< a message with `from`, to the rank of `to` on another node
  receive,       ///< it arrives in `to`
};

/// What one rank does at a time.
struct Step {
  StepKind kind = StepKind::copy;
  Block to;
  std::optional<Block> also_to{};  ///< the same bytes
  std::vector<Block> from;
  std::vector<Await> awaits{};  ///< before it
  bool is_awaited = false;      ///< by somebody
  int share = 0;                ///< which share's size it has; 0 where there are blocks
  /// Of a message: its number among this rank's of the wave, and its tag: its number among those
  /// of the wave between the same two ranks in the same direction.
  int message = -1;
  int tag = 0;
  /// Of a receive: whether nothing touches `to` before it in the wave, so that the message may
  /// arrive any time.
  bool is_free_before = false;
  std::vector<int>
      overtakes{};  ///< sends of this wave that must be done before: it overwrites them
};

/// One rank's part of a schedule.
struct RankSchedule {
  std::array<std::vector<Step>, 2> phases;  ///< by WavePhase
  bool is_start_awaited = false;
  /// Before the call may end: when the peers have done with this rank's buffers.
  std::vector<Await> at_end;
  int messages = 0;  ///< of this rank in one wave
};

/// The steps of all ranks for one wave, with what each of them waits for.
struct Schedule {
  std::vector<RankSchedule> ranks;
  int scratch_blocks = 0;  ///< of each rank, for one wave
  int tags = 0;            ///< of messages, in one wave
  /// The longest chain of steps that wait for one another across ranks.
  int depth = 0;
};

}  // namespace colltune
