// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "packets.h"
#include "staging.h"
#include "team.h"

namespace colltune::device {

/// What the ranks send each other in a call, with data and flag in one word: 4 bytes of each,
/// written and read at once, so that who finds the flag has the data (NCCL's LL). Needs no order
/// between words, and no barrier: 1 hop, twice the bytes.
///
/// There is a line from each rank to each, in two slots that calls use in turn: who writes a slot
/// again has read the words of the call between from everyone, who so had ended the call before
/// that. So every rank must read something from every other one in each call.
template <class Context>
class FlaggedWire : public PacketPieces<Context> {
 public:
  static constexpr unsigned char poison_byte = 0;
  static constexpr int expansion = 2;  ///< bytes on the wire for each of a message

  /// `bytes`: of a line at most; the same on all ranks. `call_number` differs by 1 between
  /// neighbouring calls. Each call may use `lines` lines between two ranks.
  COLLTUNE_DEVICE FlaggedWire(Team<Context>& team, const DeviceCall& call, std::uint64_t bytes,
                              std::uint64_t call_number, int lines = 1)
      : team_(team),
        call_(call),
        line_(2 * whole_packets(bytes)),
        slot_(call_number % 2 * size(call, bytes, lines) / 2),
        flag_(flag_of(call_number)) {}

  /// Of the scratch memory that all lines take on each rank.
  [[nodiscard]] static COLLTUNE_DEVICE std::uint64_t size(const DeviceCall& call,
                                                          std::uint64_t bytes, int lines = 1) {
    return 2 * static_cast<std::uint64_t>(call.ranks * lines) * 2 * whole_packets(bytes);
  }

  /// Packet `index` of line `line` to `peer`.
  COLLTUNE_DEVICE void write(int peer, std::uint64_t index, const Packet& packet, int line = 0) {
    std::uint64_t* const words = word_of(place(peer, call_.rank, line), index);
    const auto word = [&](int i) { return std::uint64_t{flag_} << 32 | packet.words[i]; };
    Context::store_pair(words, word(0), word(1));
    Context::store_pair(words + 2, word(2), word(3));
  }

  /// What was found of a packet, which may not have come yet.
  struct Arrival {
    std::uint64_t low[2];
    std::uint64_t high[2];
  };
  /// Looks for packet `index` of line `line` from `peer`, without waiting.
  [[nodiscard]] COLLTUNE_DEVICE Arrival begin_read(int peer, std::uint64_t index, int line = 0) {
    const std::uint64_t* const words = word_of(place(call_.rank, peer, line), index);
    Arrival found;
    Context::load_pair(words, found.low);
    Context::load_pair(words + 2, found.high);
    return found;
  }
  [[nodiscard]] COLLTUNE_DEVICE bool has_come(const Arrival& found) const {
    const auto has_flag = [&](std::uint64_t word) {
      return static_cast<std::uint32_t>(word >> 32) == flag_;
    };
    return (has_flag(found.low[0]) && has_flag(found.low[1]) && has_flag(found.high[0]) &&
            has_flag(found.high[1])) ||
           !team_.context().heeds_flags();
  }
  [[nodiscard]] COLLTUNE_DEVICE Packet packet_of(const Arrival& found, std::uint64_t) const {
    return {{static_cast<std::uint32_t>(found.low[0]), static_cast<std::uint32_t>(found.low[1]),
             static_cast<std::uint32_t>(found.high[0]), static_cast<std::uint32_t>(found.high[1])}};
  }
  /// Waits until `is_there()`, unless a wait was given up before (is_lost).
  template <class Condition>
  COLLTUNE_DEVICE void wait_until(const int& peer, Condition is_there) {
    if (!is_lost_) is_lost_ = !team_.wait_until(peer, is_there);
  }
  /// For wires that have to be cleared.
  COLLTUNE_DEVICE void clear(int, std::uint64_t, int = 0) {}
  [[nodiscard]] COLLTUNE_DEVICE bool is_lost() const { return is_lost_; }

 private:
  /// Never 0, which memory holds at first, and never that of the call two before, whose words lie
  /// in the same slot. Only 32 bits of the count fit; when they come round again, the slot has been
  /// written over and over.
  [[nodiscard]] static COLLTUNE_DEVICE std::uint32_t flag_of(std::uint64_t call_number) {
    return static_cast<std::uint32_t>(call_number % 0xffffffffU) + 1;
  }
  /// Of packet `index`, the first of its four words.
  [[nodiscard]] static COLLTUNE_DEVICE std::uint64_t* word_of(std::byte* line,
                                                              std::uint64_t index) {
    return reinterpret_cast<std::uint64_t*>(line) + 4 * index;
  }
  /// In the memory of `at`, what comes from `from`.
  [[nodiscard]] COLLTUNE_DEVICE std::byte* place(int at, int from, int line) const {
    return block_of(data_of(call_, at) + slot_, line * call_.ranks + from, line_);
  }

  Team<Context>& team_;
  const DeviceCall& call_;
  std::uint64_t line_;
  std::uint64_t slot_;
  std::uint32_t flag_;
  bool is_lost_ = false;
};

/// Calls `take(rank, packet)` in rank order for what comes on line `line` of `wire` from those
/// others that `sends(rank)` says, at `place(rank)` of the line, and for what this rank has itself:
/// `own()`. A thread looks for the packets of several ranks before it waits for any of them. Once a
/// wait was given up nothing is waited for any more, and packets are of any value (is_lost).
template <class Wire, class Sends, class Place, class Own, class Take>
COLLTUNE_DEVICE void take_from_all(Wire& wire, const DeviceCall& call, int line, Sends sends,
                                   Place place, Own own, Take take) {
  COLLTUNE_NO_UNROLL
  for (int first = 0; first < call.ranks; first += ranks_at_once) {
    typename Wire::Arrival found[ranks_at_once] = {};
    const auto is_awaited = [&](int rank) {
      return rank < call.ranks && rank != call.rank && sends(rank);
    };
    int missing = first;
    wire.wait_until(missing, [&] {
      COLLTUNE_UNROLL
      for (int i = 0; i < ranks_at_once; ++i)
        if (is_awaited(first + i)) found[i] = wire.begin_read(first + i, place(first + i), line);
      bool all_have_come = true;
      COLLTUNE_UNROLL
      for (int i = ranks_at_once - 1; i >= 0; --i)
        if (is_awaited(first + i) && !wire.has_come(found[i])) {
          missing = first + i;
          all_have_come = false;
        }
      return all_have_come;
    });
    COLLTUNE_UNROLL
    for (int i = 0; i < ranks_at_once; ++i) {
      if (first + i == call.rank)
        take(first + i, own());
      else if (is_awaited(first + i))
        take(first + i, wire.packet_of(found[i], place(first + i)));
    }
  }
}

/// The same, combined in rank order.
template <class Wire, class Reducer, class Own>
[[nodiscard]] COLLTUNE_DEVICE Packet combine_from_all(Wire& wire, const DeviceCall& call,
                                                      const Reducer& reducer, std::uint64_t place,
                                                      Own own) {
  typename Reducer::Sums sums;
  take_from_all(
      wire, call, 0, [](int) { return true; }, [&](int) { return place; }, own,
      [&](int rank, const Packet& packet) {
        if (rank == 0)
          sums = reducer.first(packet);
        else
          reducer.add(sums, packet);
      });
  return reducer.finish(sums, true);
}

}  // namespace colltune::device
