// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/packets.h"
#include "device/staging.h"
#include "device/team.h"

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
    auto* const words = reinterpret_cast<std::uint64_t*>(place(peer, call_.rank, line)) + 4 * index;
    for (int i = 0; i < 4; ++i)
      Context::store_relaxed(words + i, std::uint64_t{flag_} << 32 | packet.words[i]);
  }
  /// Waits for packet `index` of line `line` from `peer`. Once a wait was given up nothing is
  /// waited for any more, and packets are zeros (is_lost).
  [[nodiscard]] COLLTUNE_DEVICE Packet read(int peer, std::uint64_t index, int line = 0) {
    const auto* const words =
        reinterpret_cast<const std::uint64_t*>(place(call_.rank, peer, line)) + 4 * index;
    Packet packet{};
    for (int i = 0; i < 4 && !is_lost_; ++i) {
      std::uint64_t word = 0;
      is_lost_ = !team_.wait_until(peer, [&] {
        word = Context::load_relaxed(words + i);
        return static_cast<std::uint32_t>(word >> 32) == flag_ || !team_.context().heeds_flags();
      });
      packet.words[i] = static_cast<std::uint32_t>(word);
    }
    return packet;
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

}  // namespace colltune::device
