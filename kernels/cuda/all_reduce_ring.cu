// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Ring: the message goes round in windows of n segments of `chunk` bytes; a reduce-scatter and an
// all-gather of n - 1 steps each, 2 (n - 1) S / n bytes per rank through one neighbour (Patarasuk,
// Yuan 2009; NCCL's ring). Each block runs a ring of its own over its packets of each segment. A
// neighbour's slots are written again two windows later, when it has given back the credit.
// Partial sums are handed on in the element type.

#include "device/device_algorithm.h"
#include "device/staging.h"
#include "device/team.h"

namespace colltune::cuda {
namespace {

/// Bytes of a segment: whole packets, at least one.
COLLTUNE_DEVICE std::uint64_t segment_bytes(const device::DeviceCall& call) {
  const std::uint64_t packets = device::packets_of(call.bytes);
  const std::uint64_t even = (packets + static_cast<std::uint64_t>(call.ranks) - 1) /
                             static_cast<std::uint64_t>(call.ranks);
  const std::uint64_t wanted = call.chunk / device::packet_bytes;
  const std::uint64_t segment = wanted != 0 && wanted < even ? wanted : even;
  return (segment == 0 ? 1 : segment) * device::packet_bytes;
}

}  // namespace

struct AllReduceRing {
  static constexpr bool reduces = true;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer& reducer) {
    using namespace device;
    Team<Context> team(context, call);
    const int ranks = call.ranks;
    if (ranks == 1) {
      copy_bytes(context, call.receive, call.send, call.bytes);
      team.finish(1);
      return;
    }
    const int next = (call.rank + 1) % ranks;
    const int before = (call.rank + ranks - 1) % ranks;
    const std::uint64_t segment = segment_bytes(call);
    const std::uint64_t packets = packets_of(call.bytes);
    const std::uint64_t window = static_cast<std::uint64_t>(ranks) * segment / packet_bytes;
    const auto hops = static_cast<std::uint64_t>(2 * (ranks - 1));
    std::uint64_t step = 0;
    std::uint64_t number = 0;  // of the window
    for (std::uint64_t first = 0; first < packets; first += window, ++number) {
      const std::uint64_t here = packets - first < window ? packets - first : window;
      // Of a segment's packets, as indices into the message.
      const auto range = [&](int of) {
        const PacketRange part = part_of(here, of, ranks);
        return PacketRange{first + part.first, first + part.last};
      };
      // What arrives by hop `hop` of the window, as if the message began with the segment.
      const auto slot = [&](int at, std::uint64_t hop, const PacketRange& of) {
        return data_of(call, at) + (number % 2 * hops + hop) * segment - of.first * packet_bytes;
      };
      if (number >= 2 && !team.await(next, number - 1, Channel::credit)) return;
      for (int hop = 0; hop < ranks - 1; ++hop) {
        // The segment that ends at rank r starts at rank r + 1.
        const PacketRange sent = range((call.rank + ranks - 1 - hop) % ranks);
        if (hop > 0 && !team.await(before, step + static_cast<std::uint64_t>(hop))) return;
        for_each_packet(context, sent, [&](std::uint64_t index) {
          Packet packet = read_packet(call.send, index, call.bytes);
          if (hop > 0) {
            const auto arrived = static_cast<std::uint64_t>(hop - 1);
            auto sums = reducer.first(
                read_packet(slot(call.rank, arrived, sent), index, packets * packet_bytes));
            reducer.add(sums, packet);
            packet = reducer.finish(sums, false);
          }
          write_packet(slot(next, static_cast<std::uint64_t>(hop), sent), index,
                       packets * packet_bytes, packet);
        });
        team.post(next, step + static_cast<std::uint64_t>(hop) + 1);
      }
      const auto last = static_cast<std::uint64_t>(ranks - 1);
      if (!team.await(before, step + last)) return;
      for (int hop = 0; hop < ranks; ++hop) {
        const PacketRange got = range((call.rank + ranks - hop) % ranks);
        const std::uint64_t arrived = last - 1 + static_cast<std::uint64_t>(hop);
        if (hop > 0 && !team.await(before, step + arrived + 1)) return;
        for_each_packet(context, got, [&](std::uint64_t index) {
          Packet packet = read_packet(slot(call.rank, arrived, got), index, packets * packet_bytes);
          if (hop == 0) {
            auto sums = reducer.first(packet);
            reducer.add(sums, read_packet(call.send, index, call.bytes));
            packet = reducer.finish(sums, true);
          }
          write_packet(call.receive, index, call.bytes, packet);
          if (hop < ranks - 1)
            write_packet(slot(next, arrived + 1, got), index, packets * packet_bytes, packet);
        });
        if (hop < ranks - 1) team.post(next, step + arrived + 2);
      }
      team.post(before, number + 1, Channel::credit);
      step += hops;
    }
    // Nobody's slots are written by a call that it has not begun.
    if (!team.barrier(step + 1)) return;
    team.finish(step + 1);
  }
};

DeviceAlgorithms make_all_reduce_ring() {
  return {make_device<AllReduceRing>(
      {.name = "cuda.all_reduce_ring",
       .description = "reduce-scatter and all-gather round a ring: 2(n-1) steps, 2(n-1)S/n bytes "
                      "per rank (Patarasuk, Yuan 2009)",
       .collective = Collective::all_reduce,
       .scratch_bytes =
           [](const device::DeviceCall& call) {
             return 4 * static_cast<std::uint64_t>(call.ranks - 1) * segment_bytes(call);
           },
       .cost =
           [](const device::DeviceCall& call) {
             const double peers = device::peers_of(call);
             const double part = device::size_of_message(call) / call.ranks;
             return Cost{2 * peers, 2 * peers * part, 2 * peers * part};
           },
       .numeric_class = NumericClass::same_bits,
       .has_chunks = true,
       .uses_registered = false})};
}

}  // namespace colltune::cuda
