// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Ring: the message goes round in windows of n segments of `chunk` bytes. A reduce-scatter and an
// all-gather of n - 1 steps each; 2 (n - 1) S / n bytes per rank, all through one neighbour
// (Patarasuk, Yuan 2009; NCCL's ring). Each block runs its own ring over its packets of each
// segment. A neighbour's slots are written again `slots` windows later, after it has given back the
// credit. A remainder after the whole windows goes round in one more window, however short, and
// never in pieces, since each window costs the ring's steps once more; messages of a power of two
// have no remainder. Partial sums are handed on in the element type. The all-gather may go round
// both ways at once, in half as many steps, since links carry as much in each direction.

#include "device_code/device_algorithm.h"
#include "device_code/staging.h"
#include "device_code/team.h"

namespace colltune::cuda {
namespace {

/// Steps of the all-gather in the forward direction.
COLLTUNE_DEVICE int forward_steps(int ranks, bool both_ways) {
  return both_ways ? ranks / 2 : ranks - 1;
}

}  // namespace

/// `both_ways`: the all-gather goes round in both directions at once.
template <bool both_ways>
struct AllReduceRing {
  static constexpr bool reduces = true;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer& reducer) {
    using namespace device;
    Team<Context> team(context, call);
    const int ranks = call.ranks;
    if (ranks == 1) {
      copy_bytes(context, call, call.receive, call.send, call.bytes);
      team.finish(1);
      return;
    }
    const int next = (call.rank + 1) % ranks;
    const int before = (call.rank + ranks - 1) % ranks;
    const std::uint64_t segment = segment_bytes(call);
    const std::uint64_t packets = packets_of(call.bytes);
    const std::uint64_t window = static_cast<std::uint64_t>(ranks) * segment / packet_bytes;
    const int sums = ranks - 1;  // hops of the reduce-scatter
    const int forwards = forward_steps(ranks, both_ways);
    const int backwards = ranks - 1 - forwards;
    const auto hops = static_cast<std::uint64_t>(2 * (ranks - 1));
    const auto slots = static_cast<std::uint64_t>(call.slots);
    std::uint64_t step = 0;
    std::uint64_t number = 0;  // of the window
    for (std::uint64_t first = 0; first < packets; first += window, ++number) {
      const std::uint64_t here = packets - first < window ? packets - first : window;
      // A segment's packets, as indices into the message. A segment's sums start at the rank after
      // its number, and end at the rank of its number.
      const auto range = [&](int of) {
        const PacketRange part = part_of(here, (of + ranks) % ranks, ranks);
        return PacketRange{first + part.first, first + part.last};
      };
      // The slot of the segment that arrives by hop `hop` of the window. Hops of the sums come
      // first, then forward hops, then backward hops.
      const auto slot = [&](int hop) {
        return (number % slots * hops + static_cast<std::uint64_t>(hop)) * segment;
      };
      const auto read = [&](int hop, const PacketRange& of, std::uint64_t index) {
        return read_packet<Context>(data_of(call, call.rank) + slot(hop), index - of.first,
                                    segment);
      };
      const auto send = [&](int to, int hop, const PacketRange& of, std::uint64_t index,
                            const Packet& packet) {
        team.put_packet(team.scratch_of(to, slot(hop)), index - of.first, segment, packet);
      };
      constexpr bool packs = Context::template packs<Reducer>;
      const auto forth = [&](int hop) { return step + static_cast<std::uint64_t>(hop) + 1; };
      const auto back = [&](int hop) {
        return number * static_cast<std::uint64_t>(backwards) + static_cast<std::uint64_t>(hop);
      };
      if (number >= slots && !team.await(next, number - slots + 1, Channel::credit)) return;
      if (number >= slots && backwards > 0 &&
          !team.await(before, number - slots + 1, Channel::credit))
        return;

      for (int hop = 0; hop < sums; ++hop) {
        const PacketRange sent = range(call.rank - 1 - hop);
        if (hop > 0 && !team.await(before, forth(hop - 1))) return;
        move_packets<packs>(
            context, call, sent,
            [&](std::uint64_t index) {
              const Packet packet = read_packet<Context>(call.send, index, call.bytes);
              if (hop == 0) return packet;
              auto partial = reducer.first(read(hop - 1, sent, index));
              reducer.add(partial, packet);
              return reducer.finish(partial, false);
            },
            [&](std::uint64_t index, const Packet& packet) {
              send(next, hop, sent, index, packet);
            });
        team.post(next, forth(hop));
      }
      if (!team.await(before, forth(sums - 1))) return;
      const PacketRange own = range(call.rank);
      move_packets<packs>(
          context, call, own,
          [&](std::uint64_t index) {
            auto total = reducer.first(read(sums - 1, own, index));
            reducer.add(total, read_packet<Context>(call.send, index, call.bytes));
            return reducer.finish(total, true);
          },
          [&](std::uint64_t index, const Packet& packet) {
            write_packet<Context>(call.receive, index, call.bytes, packet);
            send(next, sums, own, index, packet);
            if (backwards > 0) send(before, sums + forwards, own, index, packet);
          });
      team.post(next, forth(sums));
      if (backwards > 0) team.post(before, back(1));
      for (int hop = 1; hop <= forwards; ++hop) {
        const PacketRange got = range(call.rank - hop);
        const int arrived = sums + hop - 1;
        if (!team.await(before, forth(arrived))) return;
        move_packets(
            context, call, got, [&](std::uint64_t index) { return read(arrived, got, index); },
            [&](std::uint64_t index, const Packet& packet) {
              write_packet<Context>(call.receive, index, call.bytes, packet);
              if (hop < forwards) send(next, arrived + 1, got, index, packet);
            });
        if (hop < forwards) team.post(next, forth(arrived + 1));
        if (hop > backwards) continue;
        const PacketRange other = range(call.rank + hop - ranks);
        if (!team.await(next, back(hop))) return;
        move_packets(
            context, call, other,
            [&](std::uint64_t index) { return read(arrived + forwards, other, index); },
            [&](std::uint64_t index, const Packet& packet) {
              write_packet<Context>(call.receive, index, call.bytes, packet);
              if (hop < backwards) send(before, arrived + forwards + 1, other, index, packet);
            });
        if (hop < backwards) team.post(before, back(hop + 1));
      }
      team.post(before, number + 1, Channel::credit);
      if (backwards > 0) team.post(next, number + 1, Channel::credit);
      step += hops;
    }
    // No call writes a rank's slots before that rank has begun it.
    if (!team.barrier(step + 1)) return;
    team.finish(step + 1);
  }
};

namespace {

std::uint64_t scratch(const device::DeviceCall& call) {
  return 2 * static_cast<std::uint64_t>(call.slots * (call.ranks - 1)) *
         device::segment_bytes(call);
}

template <bool both_ways>
Cost cost(const device::DeviceCall& call) {
  const double bytes = 2 * device::peers_of(call) * device::size_of_message(call) / call.ranks;
  return {device::peers_of(call) + forward_steps(call.ranks, both_ways), bytes, bytes};
}

template <bool both_ways>
DeviceAlgorithm make(const char* name, const char* description) {
  return make_device<AllReduceRing<both_ways>>({.name = name,
                                                .description = description,
                                                .collective = Collective::all_reduce,
                                                .scratch_bytes = scratch,
                                                .cost = cost<both_ways>,
                                                .numeric_class = NumericClass::same_bits,
                                                .has_chunks = true,
                                                .does_shares = true,
                                                .uses_registered = false,
                                                .reaches_by_puts = true});
}

}  // namespace

DeviceAlgorithms make_all_reduce_ring() {
  return {make<false>("cuda.all_reduce_ring",
                      "reduce-scatter and all-gather round a ring: 2(n-1) steps, 2(n-1)S/n bytes "
                      "per rank (Patarasuk, Yuan 2009)"),
          make<true>("cuda.all_reduce_ring_both_ways",
                     "reduce-scatter round a ring, all-gather round it in both directions at once: "
                     "n-1 + n/2 steps, 2(n-1)S/n bytes per rank")};
}

}  // namespace colltune::cuda
