// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "packets.h"
#include "staging.h"
#include "team.h"

namespace colltune::device {

/// Messages between all ranks of a call, with data and flag in one word: 4 bytes of each, written
/// and read at once, so a reader that finds the flag has the data (NCCL's LL). It needs no ordering
/// between words and no barrier: 1 hop, twice the bytes.
///
/// There is a line from each rank to each other, in two slots that calls use in turn. A rank that
/// writes a slot again has read words of the intervening call from every rank, so every rank had
/// finished with the call before it. This requires that in each call every rank reads something
/// from every other rank, or from one that did: a call without bytes is none. Calls may differ in
/// size, since flags lie at the same places in lines of any length.
template <class Context>
class FlaggedWire : public PacketPieces<Context> {
 public:
  static constexpr unsigned char poison_byte = 0;
  static constexpr bool clears_words = false;
  static constexpr int expansion = 2;  ///< bytes on the wire per byte of a message

  /// `bytes`: the longest line; the same on all ranks. `call_number` grows by 1 from call to call.
  /// Each call may use `lines` lines between two ranks.
  COLLTUNE_DEVICE FlaggedWire(Team<Context>& team, const DeviceCall& call, std::uint64_t bytes,
                              std::uint64_t call_number, int /*lines*/ = 1)
      : team_(team),
        call_(call),
        line_(2 * whole_packets(bytes)),
        slot_(staging_slot(call, call_number)),
        flag_(flag_of(call_number)) {}

  /// Bytes of each rank's scratch memory that all lines take.
  [[nodiscard]] static COLLTUNE_DEVICE std::uint64_t size(const DeviceCall& call,
                                                          std::uint64_t bytes, int lines = 1) {
    return 2 * static_cast<std::uint64_t>(call.ranks * lines) * 2 * whole_packets(bytes);
  }

  /// Sends packet `index` of line `line` to `peer`.
  COLLTUNE_DEVICE void write(int peer, std::uint64_t index, const Packet& packet, int line = 0) {
    std::uint64_t* const words = word_of(place(peer, call_.rank, line), index);
    const auto word = [&](int i) { return std::uint64_t{flag_} << 32 | packet.words[i]; };
    Context::store_pair(words, word(0), word(1));
    Context::store_pair(words + 2, word(2), word(3));
  }

  /// What a look at a packet found; the packet may not have arrived yet.
  struct Arrival {
    std::uint64_t low[2];
    std::uint64_t high[2];
  };
  /// Reads packet `index` of line `line` from `peer`, without waiting.
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
  /// Waits until `is_there()`, unless an earlier wait was given up (is_lost).
  template <class Condition>
  COLLTUNE_DEVICE void wait_until(const int& peer, Condition is_there) {
    if (!is_lost_) is_lost_ = !team_.wait_until(peer, is_there);
  }
  /// A no-op here; other wires have to be cleared.
  COLLTUNE_DEVICE void clear(int, std::uint64_t, int = 0) {}
  [[nodiscard]] COLLTUNE_DEVICE bool is_lost() const { return is_lost_; }

 private:
  /// Never 0, the initial content of memory, and never the flag of two calls before, whose words
  /// lie in the same slot. Only 32 bits of the count fit. They repeat in the same slot after 2^33
  /// - 2 calls; only a word that none of these calls was long enough to overwrite would be taken.
  [[nodiscard]] static COLLTUNE_DEVICE std::uint32_t flag_of(std::uint64_t call_number) {
    return static_cast<std::uint32_t>(call_number % 0xffffffffU) + 1;
  }
  /// The first of packet `index`'s four words.
  [[nodiscard]] static COLLTUNE_DEVICE std::uint64_t* word_of(std::byte* line,
                                                              std::uint64_t index) {
    return reinterpret_cast<std::uint64_t*>(line) + 4 * index;
  }
  /// Where data from rank `from` lies in the memory of rank `at`.
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

/// Calls `take(rank, packet)` in rank order. Packets of the other ranks for which `sends(rank)`
/// holds come from line `line` of `wire`, at `place(rank)`; this rank's own packet is `own()`. A
/// thread reads the packets of several ranks before it waits for any of them. After a wait was
/// given up it waits for nothing more, and packets have arbitrary values (is_lost).
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

/// As take_from_all, combining the packets in rank order.
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
