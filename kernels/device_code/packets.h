// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device_call.h"
#include "host_device.h"

namespace colltune::device {

/// What one thread moves at a time: the widest load and store of a GPU. Holds any element type.
struct alignas(16) [[gnu::may_alias]] Packet {
  std::uint32_t words[4];
};
constexpr std::uint64_t packet_bytes = sizeof(Packet);

[[nodiscard]] COLLTUNE_DEVICE std::uint64_t packets_of(std::uint64_t bytes) {
  return (bytes + packet_bytes - 1) / packet_bytes;
}

[[nodiscard]] COLLTUNE_DEVICE bool is_aligned(const std::byte* place) {
  return reinterpret_cast<std::uintptr_t>(place) % packet_bytes == 0;
}

/// Whether a call moves nothing but whole packets at multiples of 16 bytes. If so, its kernel takes
/// a path without a branch per packet (Context::is_whole). Both paths exchange the same data
/// between ranks, so each rank chooses for itself.
[[nodiscard]] inline bool moves_whole_packets(const DeviceCall& call) {
  if (call.bytes % packet_bytes != 0 || !is_aligned(call.send) || !is_aligned(call.receive))
    return false;
  for (int rank = 0; call.registered && rank < call.ranks; ++rank)
    if (!is_aligned(call.sends[rank]) || !is_aligned(call.receives[rank])) return false;
  return true;
}

/// A word of a message, which may be of any type.
using Word [[gnu::may_alias]] = std::uint32_t;

/// The first `size` bytes (16 at most) at `from`, of any alignment, padded with zeros.
[[nodiscard]] COLLTUNE_DEVICE_CALL Packet read_part(const std::byte* from, std::uint64_t size) {
  Packet packet{};
  if (reinterpret_cast<std::uintptr_t>(from) % sizeof(Word) == 0 && size % sizeof(Word) == 0) {
    COLLTUNE_UNROLL
    for (std::uint64_t i = 0; i < packet_bytes / sizeof(Word); ++i)
      if (i * sizeof(Word) < size) packet.words[i] = reinterpret_cast<const Word*>(from)[i];
    return packet;
  }
  COLLTUNE_UNROLL
  for (std::uint64_t i = 0; i < packet_bytes; ++i)
    if (i < size)
      packet.words[i / 4] |= static_cast<std::uint32_t>(std::to_integer<unsigned>(from[i]))
                             << (8 * (i % 4));
  return packet;
}
COLLTUNE_DEVICE_CALL void write_part(std::byte* to, std::uint64_t size, Packet packet) {
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(Word) == 0 && size % sizeof(Word) == 0) {
    COLLTUNE_UNROLL
    for (std::uint64_t i = 0; i < packet_bytes / sizeof(Word); ++i)
      if (i * sizeof(Word) < size) reinterpret_cast<Word*>(to)[i] = packet.words[i];
    return;
  }
  COLLTUNE_UNROLL
  for (std::uint64_t i = 0; i < packet_bytes; ++i)
    if (i < size) to[i] = static_cast<std::byte>(packet.words[i / 4] >> (8 * (i % 4)));
}

/// Packet `index` of the `bytes` bytes at `from`, padded with zeros after their end. `from` may
/// have any alignment unless `Context::is_whole`; a whole aligned packet is one load.
template <class Context>
[[nodiscard]] COLLTUNE_DEVICE Packet read_packet(const std::byte* from, std::uint64_t index,
                                                 std::uint64_t bytes) {
  const std::uint64_t at = index * packet_bytes;
  if (Context::is_whole || (bytes - at >= packet_bytes && is_aligned(from)))
    return *reinterpret_cast<const Packet*>(from + at);
  return read_part(from + at, bytes - at < packet_bytes ? bytes - at : packet_bytes);
}

template <class Context>
COLLTUNE_DEVICE void write_packet(std::byte* to, std::uint64_t index, std::uint64_t bytes,
                                  const Packet& packet) {
  const std::uint64_t at = index * packet_bytes;
  if (Context::is_whole || (bytes - at >= packet_bytes && is_aligned(to)))
    *reinterpret_cast<Packet*>(to + at) = packet;
  else
    write_part(to + at, bytes - at < packet_bytes ? bytes - at : packet_bytes, packet);
}

/// Consecutive packets of a message.
struct PacketRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  ///< one past the end
};

/// Part `part` of `parts` of `packets` packets. The parts differ by at most one packet.
[[nodiscard]] COLLTUNE_DEVICE PacketRange part_of(std::uint64_t packets, int part, int parts) {
  const auto n = static_cast<std::uint64_t>(parts);
  const auto i = static_cast<std::uint64_t>(part);
  return {packets * i / n, packets * (i + 1) / n};
}

/// The packets of a range that belong to this thread: a first one, then every stride-th.
struct ThreadPackets {
  template <class Context>
  COLLTUNE_DEVICE ThreadPackets(const Context& context, const PacketRange& range)
      : first(range.first +
              static_cast<std::uint64_t>(context.block()) *
                  static_cast<std::uint64_t>(context.threads()) +
              static_cast<std::uint64_t>(context.thread())),
        last(range.last),
        stride(static_cast<std::uint64_t>(context.blocks()) *
               static_cast<std::uint64_t>(context.threads())) {}

  /// The packet `steps` strides after `index`.
  [[nodiscard]] COLLTUNE_DEVICE std::uint64_t at(std::uint64_t index, int steps) const {
    return index + static_cast<std::uint64_t>(steps) * stride;
  }
  /// Whether this thread has at least `count` packets from `index` on.
  [[nodiscard]] COLLTUNE_DEVICE bool has(std::uint64_t index, int count) const {
    return at(index, count - 1) < last;
  }

  std::uint64_t first;
  std::uint64_t last;  ///< of the range, one past the end
  std::uint64_t stride;
};

/// Calls `act(index)` for the packets of `range` that belong to this thread. A packet's position in
/// the range alone decides which block handles it, so blocks with the same number on two ranks
/// handle the same packets.
template <class Context, class Act>
COLLTUNE_DEVICE void for_each_packet(const Context& context, const PacketRange& range, Act act) {
  const ThreadPackets own(context, range);
  COLLTUNE_NO_UNROLL
  for (std::uint64_t index = own.first; index < range.last; index += own.stride) act(index);
}

/// The most packets that a thread loads before it stores the first; the only other choice is 1.
constexpr int most_packets = 4;

/// Calls `store(index, load(index))` for the packets of `range` that belong to this thread, as
/// for_each_packet divides them. If `call.packets` allows it, a thread loads several packets before
/// it stores the first, so that their trips through a link overlap: a load must not depend on
/// another packet's store. `may_pack` false forbids that; for loads whose code is too large to be
/// repeated that often.
template <bool may_pack = true, class Context, class Load, class Store>
COLLTUNE_DEVICE void move_packets(const Context& context, const DeviceCall& call,
                                  const PacketRange& range, Load load, Store store) {
  const ThreadPackets own(context, range);
  std::uint64_t index = own.first;
  // The braces are needed: without them nvcc 13.0 takes the following loop, with its pragma, for
  // part of the discarded statement.
  if constexpr (may_pack) {
    if (call.packets == most_packets)
      for (; own.has(index, most_packets); index += most_packets * own.stride) {
        Packet packets[most_packets];
        COLLTUNE_UNROLL
        for (int i = 0; i < most_packets; ++i) packets[i] = load(own.at(index, i));
        COLLTUNE_UNROLL
        for (int i = 0; i < most_packets; ++i) store(own.at(index, i), packets[i]);
      }
  }
  COLLTUNE_NO_UNROLL
  for (; index < range.last; index += own.stride) store(index, load(index));
}

/// Number of ranks whose packets a thread loads before it looks at the first.
constexpr int ranks_at_once = 4;

/// How wires that carry single packets divide a message. Ranks share out units (`units_of`) among
/// themselves, and each unit has one or more pieces.
template <class Context>
struct PacketPieces {
  static constexpr bool needs_whole_lines = false;
  static constexpr std::uint64_t pieces_of_unit = 1;

  [[nodiscard]] static COLLTUNE_DEVICE std::uint64_t units_of(std::uint64_t bytes) {
    return packets_of(bytes);
  }
  template <class Act>
  static COLLTUNE_DEVICE void for_each_piece(const Context& context, const PacketRange& range,
                                             Act act) {
    for_each_packet(context, range, act);
  }
  [[nodiscard]] static COLLTUNE_DEVICE Packet read_from(const std::byte* from, std::uint64_t piece,
                                                        std::uint64_t bytes) {
    return read_packet<Context>(from, piece, bytes);
  }
  static COLLTUNE_DEVICE void write_to(std::byte* to, std::uint64_t piece, std::uint64_t bytes,
                                       const Packet& packet) {
    write_packet<Context>(to, piece, bytes, packet);
  }
};

/// Copies the packets `range` of the `from_bytes` bytes at `from` to the same offsets of the
/// `to_bytes` bytes at `to`. All blocks take part.
template <class Context>
COLLTUNE_DEVICE void copy_packets(const Context& context, const DeviceCall& call,
                                  const PacketRange& range, std::byte* to, std::uint64_t to_bytes,
                                  const std::byte* from, std::uint64_t from_bytes) {
  move_packets(
      context, call, range,
      [&](std::uint64_t index) { return read_packet<Context>(from, index, from_bytes); },
      [&](std::uint64_t index, const Packet& packet) {
        write_packet<Context>(to, index, to_bytes, packet);
      });
}

/// Copies `bytes` bytes. All blocks take part.
template <class Context>
COLLTUNE_DEVICE void copy_bytes(const Context& context, const DeviceCall& call, std::byte* to,
                                const std::byte* from, std::uint64_t bytes) {
  if (to != from) copy_packets(context, call, {0, packets_of(bytes)}, to, bytes, from, bytes);
}

}  // namespace colltune::device
