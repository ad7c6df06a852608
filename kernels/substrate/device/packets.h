// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/device_call.h"
#include "device/host_device.h"

namespace colltune::device {

/// What one thread moves at a time: the widest load and store that a GPU has. Of any element type.
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

/// Packet `index` of `bytes` bytes at `from`: zeros behind its end. Any alignment; whole aligned
/// packets are one load.
[[nodiscard]] COLLTUNE_DEVICE Packet read_packet(const std::byte* from, std::uint64_t index,
                                                 std::uint64_t bytes) {
  const std::uint64_t at = index * packet_bytes;
  if (bytes - at >= packet_bytes && is_aligned(from))
    return *reinterpret_cast<const Packet*>(from + at);
  Packet packet{};
  const std::uint64_t left = bytes - at < packet_bytes ? bytes - at : packet_bytes;
  for (std::uint64_t i = 0; i < left; ++i) reinterpret_cast<std::byte*>(&packet)[i] = from[at + i];
  return packet;
}

COLLTUNE_DEVICE void write_packet(std::byte* to, std::uint64_t index, std::uint64_t bytes,
                                  const Packet& packet) {
  const std::uint64_t at = index * packet_bytes;
  if (bytes - at >= packet_bytes && is_aligned(to)) {
    *reinterpret_cast<Packet*>(to + at) = packet;
    return;
  }
  const std::uint64_t left = bytes - at < packet_bytes ? bytes - at : packet_bytes;
  for (std::uint64_t i = 0; i < left; ++i)
    to[at + i] = reinterpret_cast<const std::byte*>(&packet)[i];
}

/// Some packets of a message, behind one another.
struct PacketRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  ///< one behind
};

/// Part `part` of `parts` of `packets` packets. The parts differ by one packet at most.
[[nodiscard]] COLLTUNE_DEVICE PacketRange part_of(std::uint64_t packets, int part, int parts) {
  const auto n = static_cast<std::uint64_t>(parts);
  const auto i = static_cast<std::uint64_t>(part);
  return {packets * i / n, packets * (i + 1) / n};
}

/// Those of a range's packets that a thread has to do: the first, and every stride-th behind it.
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

  /// The one `steps` behind `index`.
  [[nodiscard]] COLLTUNE_DEVICE std::uint64_t at(std::uint64_t index, int steps) const {
    return index + static_cast<std::uint64_t>(steps) * stride;
  }
  /// Whether there are `count` of them from `index` on.
  [[nodiscard]] COLLTUNE_DEVICE bool has(std::uint64_t index, int count) const {
    return at(index, count - 1) < last;
  }

  std::uint64_t first;
  std::uint64_t last;  ///< of the range, one behind
  std::uint64_t stride;
};

/// Calls `act(index)` for the packets of `range` that this thread has to do. Which block does which
/// packet of a range follows from its place in the range alone: the blocks with the same number of
/// two ranks do the same ones.
template <class Context, class Act>
COLLTUNE_DEVICE void for_each_packet(const Context& context, const PacketRange& range, Act act) {
  const ThreadPackets own(context, range);
  for (std::uint64_t index = own.first; index < range.last; index += own.stride) act(index);
}

/// The most packets that a thread loads before it stores the first of them; the other choice is 1.
constexpr int most_packets = 4;

/// `store(index, load(index))` for the packets of `range` that this thread has to do, the same ones
/// as of for_each_packet. Where `call.packets` says so a thread loads several packets before it
/// stores the first, so that their ways through a link are gone at the same time: what one packet's
/// load returns may not depend on another one's store. `may_pack` false: never; for loads whose
/// code is too large to stand there as often.
template <bool may_pack = true, class Context, class Load, class Store>
COLLTUNE_DEVICE void move_packets(const Context& context, const DeviceCall& call,
                                  const PacketRange& range, Load load, Store store) {
  const ThreadPackets own(context, range);
  std::uint64_t index = own.first;
  if constexpr (may_pack)
    if (call.packets == most_packets)
      for (; own.has(index, most_packets); index += most_packets * own.stride) {
        Packet packets[most_packets];
        COLLTUNE_UNROLL
        for (int i = 0; i < most_packets; ++i) packets[i] = load(own.at(index, i));
        COLLTUNE_UNROLL
        for (int i = 0; i < most_packets; ++i) store(own.at(index, i), packets[i]);
      }
  for (; index < range.last; index += own.stride) store(index, load(index));
}

/// How wires that carry packet by packet cut a message: `units_of` are what ranks share out among
/// each other, and each has one piece or several.
template <class Context>
struct PacketPieces {
  static constexpr bool needs_whole_lines = false;

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
    return read_packet(from, piece, bytes);
  }
  static COLLTUNE_DEVICE void write_to(std::byte* to, std::uint64_t piece, std::uint64_t bytes,
                                       const Packet& packet) {
    write_packet(to, piece, bytes, packet);
  }
};

/// Copies the packets `range` of `from_bytes` bytes at `from` to the same places of `to_bytes`
/// bytes at `to`, by all blocks.
template <class Context>
COLLTUNE_DEVICE void copy_packets(const Context& context, const DeviceCall& call,
                                  const PacketRange& range, std::byte* to, std::uint64_t to_bytes,
                                  const std::byte* from, std::uint64_t from_bytes) {
  move_packets(
      context, call, range,
      [&](std::uint64_t index) { return read_packet(from, index, from_bytes); },
      [&](std::uint64_t index, const Packet& packet) {
        write_packet(to, index, to_bytes, packet);
      });
}

/// Copies `bytes` bytes, by all blocks.
template <class Context>
COLLTUNE_DEVICE void copy_bytes(const Context& context, const DeviceCall& call, std::byte* to,
                                const std::byte* from, std::uint64_t bytes) {
  if (to != from) copy_packets(context, call, {0, packets_of(bytes)}, to, bytes, from, bytes);
}

}  // namespace colltune::device
