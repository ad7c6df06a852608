// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Collectives through NVLink's switches (NVLS): one store of a packet reaches the memory of all
// ranks, and one load returns the sum over all. All data goes through scratch memory, in two slots
// in turn as elsewhere. One-shot all-reduce: inputs go into scratch memory, then every rank loads
// the sums of the whole message: 1 round, S bytes per rank. Two-shot: every rank loads the sums of
// its share and stores them to all: 2 rounds, 2 S / n bytes. Reduce-scatter: every rank loads the
// sums of its block. Broadcast and all-gather: the message is stored to all ranks. (PyTorch's
// multimem_one_shot and two_shot, NCCL's symmetric kernels LDMC, STMC.) The multicast address and
// the plain one are aliases of one memory. Only an alias fence on both sides of a barrier orders
// accesses through one with accesses through the other (PTX ISA 8.6, proxies).

#include "device_code/device_algorithm.h"
#include "device_code/staging.h"
#include "device_code/team.h"

namespace colltune::cuda {
namespace {

/// The final result from the sum: averages are divided.
template <class Reducer>
COLLTUNE_DEVICE device::Packet result_of(const Reducer& reducer, const device::Packet& sum) {
  return reducer.finish(reducer.first(sum), true);
}

/// Copies the packets `range` of the `call.bytes` bytes to this rank's scratch memory at `to`. The
/// last packet is padded with zeros, since packets are added up whole.
template <class Context>
COLLTUNE_DEVICE void stage(Context& context, const device::DeviceCall& call,
                           const device::PacketRange& range, std::byte* to, const std::byte* from) {
  device::move_packets(
      context, call, range,
      [&](std::uint64_t index) { return device::read_packet<Context>(from, index, call.bytes); },
      [&](std::uint64_t index, const device::Packet& packet) {
        context.store_alias(to, index, packet);
      });
}

/// Copies the packets `range` of what arrived in this rank's scratch memory at `from`.
template <class Context>
COLLTUNE_DEVICE void take(Context& context, const device::DeviceCall& call,
                          const device::PacketRange& range, std::byte* to, const std::byte* from) {
  device::move_packets(
      context, call, range, [&](std::uint64_t index) { return context.load_alias(from, index); },
      [&](std::uint64_t index, const device::Packet& packet) {
        device::write_packet<Context>(to, index, call.bytes, packet);
      });
}

/// Offset of slot `slot`'s packet `index` in every rank's scratch memory.
COLLTUNE_DEVICE std::uint64_t place_of(std::uint64_t slot, std::uint64_t index) {
  return device::signals_size + slot + index * device::packet_bytes;
}

/// Loads the sums over all ranks' data in `slot` into the caller's results.
template <class Context, class Reducer>
COLLTUNE_DEVICE void receive_sums(Context& context, const device::DeviceCall& call,
                                  std::uint64_t slot, const Reducer& reducer) {
  device::move_packets<Context::template packs<Reducer>>(
      context, call, {0, device::packets_of(call.bytes)},
      [&](std::uint64_t index) {
        return result_of(reducer, context.sum_everywhere(call, place_of(slot, index), reducer));
      },
      [&](std::uint64_t index, const device::Packet& result) {
        device::write_packet<Context>(call.receive, index, call.bytes, result);
      });
}

/// Stores what the caller sends into all ranks' `slot`.
template <class Context>
COLLTUNE_DEVICE void send_to_all(Context& context, const device::DeviceCall& call,
                                 std::uint64_t slot) {
  device::move_packets(
      context, call, {0, device::packets_of(call.bytes)},
      [&](std::uint64_t index) {
        return device::read_packet<Context>(call.send, index, call.bytes);
      },
      [&](std::uint64_t index, const device::Packet& packet) {
        context.store_everywhere(call, place_of(slot, index), packet);
      });
}

/// A barrier after which each address of the memory shows what was written through the other.
template <class Context>
[[nodiscard]] COLLTUNE_DEVICE bool barrier_of_aliases(device::Team<Context>& team,
                                                      std::uint64_t step) {
  team.context().release_aliases();
  if (!team.barrier(step)) return false;
  team.context().acquire_aliases();
  return true;
}

}  // namespace

struct AllReduceOneShotMulticast {
  static constexpr bool reduces = true;
  static constexpr bool sums_in_the_network = true;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer& reducer) {
    using namespace device;
    Team<Context> team(context, call);
    const std::uint64_t slot = staging_slot(call, team.base());
    stage(context, call, {0, packets_of(call.bytes)}, data_of(call, call.rank) + slot, call.send);
    if (!barrier_of_aliases(team, 1)) return;
    receive_sums(context, call, slot, reducer);
    team.finish(1);
  }
};

struct AllReduceTwoShotMulticast {
  static constexpr bool reduces = true;
  static constexpr bool sums_in_the_network = true;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer& reducer) {
    using namespace device;
    Team<Context> team(context, call);
    // A slot holds the input, then the results.
    const std::uint64_t whole = whole_packets(call.bytes);
    const std::uint64_t slot = staging_slot(call, team.base() / 2);
    const std::uint64_t packets = packets_of(call.bytes);
    const auto share = [&](int rank) { return part_of(packets, rank, call.ranks); };
    std::byte* const own = data_of(call, call.rank) + slot;
    for (int rank = 0; rank < call.ranks; ++rank) stage(context, call, share(rank), own, call.send);
    if (!barrier_of_aliases(team, 1)) return;
    move_packets<Context::template packs<Reducer>>(
        context, call, share(call.rank),
        [&](std::uint64_t index) {
          return result_of(reducer, context.sum_everywhere(call, place_of(slot, index), reducer));
        },
        [&](std::uint64_t index, const Packet& result) {
          context.store_everywhere(call, place_of(slot + whole, index), result);
        });
    if (!barrier_of_aliases(team, 2)) return;
    for (int rank = 0; rank < call.ranks; ++rank)
      take(context, call, share(rank), call.receive, own + whole);
    team.finish(2);
  }
};

struct ReduceScatterMulticast {
  static constexpr bool reduces = true;
  static constexpr bool sums_in_the_network = true;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer& reducer) {
    using namespace device;
    Team<Context> team(context, call);
    const std::uint64_t block = whole_packets(call.bytes);
    const std::uint64_t slot = staging_slot(call, team.base());
    for (int rank = 0; rank < call.ranks; ++rank)
      stage(context, call, {0, packets_of(call.bytes)},
            block_of(data_of(call, call.rank) + slot, rank, block),
            block_of(call.send, rank, call.bytes));
    if (!barrier_of_aliases(team, 1)) return;
    receive_sums(context, call, slot + static_cast<std::uint64_t>(call.rank) * block, reducer);
    team.finish(1);
  }
};

struct AllGatherMulticast {
  static constexpr bool reduces = false;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer&) {
    using namespace device;
    Team<Context> team(context, call);
    const std::uint64_t block = whole_packets(call.bytes);
    const std::uint64_t slot = staging_slot(call, team.base());
    // Slots are free: a rank that begins a call has seen the end of the one before, which all ranks
    // had begun.
    send_to_all(context, call, slot + static_cast<std::uint64_t>(call.rank) * block);
    if (!barrier_of_aliases(team, 1)) return;
    for (int rank = 0; rank < call.ranks; ++rank)
      take(context, call, {0, packets_of(call.bytes)}, block_of(call.receive, rank, call.bytes),
           block_of(data_of(call, call.rank) + slot, rank, block));
    team.finish(1);
  }
};

struct BroadcastMulticast {
  static constexpr bool reduces = false;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer&) {
    using namespace device;
    Team<Context> team(context, call);
    const std::uint64_t slot = staging_slot(call, team.base());
    if (call.rank == call.root) send_to_all(context, call, slot);
    if (!barrier_of_aliases(team, 1)) return;
    if (call.rank == call.root)
      copy_bytes(context, call, call.receive, call.send, call.bytes);
    else
      take(context, call, {0, packets_of(call.bytes)}, call.receive,
           data_of(call, call.rank) + slot);
    team.finish(1);
  }
};

namespace {

using device::DeviceCall;
using device::size_of_message;

std::uint64_t scratch_for_message(const DeviceCall& call) {
  return device::staging_bytes(call.bytes);
}
std::uint64_t scratch_for_two(const DeviceCall& call) {
  return device::staging_bytes(2 * device::whole_packets(call.bytes));
}
std::uint64_t scratch_for_blocks(const DeviceCall& call) {
  return device::staging_bytes(static_cast<std::uint64_t>(call.ranks) *
                               device::whole_packets(call.bytes));
}

template <class Body>
DeviceAlgorithm make(const char* name, const char* description, Collective collective,
                     std::uint64_t (*scratch_bytes)(const DeviceCall&),
                     Cost (*cost)(const DeviceCall&),
                     NumericClass numeric_class = NumericClass::rank_order,
                     bool does_shares = false) {
  return make_device<Body>({.name = name,
                            .description = description,
                            .collective = collective,
                            .scratch_bytes = scratch_bytes,
                            .cost = cost,
                            .numeric_class = numeric_class,
                            .does_shares = does_shares,
                            .uses_registered = false,
                            .needs_multicast = true});
}

}  // namespace

DeviceAlgorithms make_multicast() {
  return {
      // Each rank's load is a separate sum; nothing guarantees the same order for all.
      make<AllReduceOneShotMulticast>(
          "cuda.all_reduce_one_shot_multicast",
          "every rank loads the sums of all inputs from the switch: 1 round, S bytes (PyTorch)",
          Collective::all_reduce, scratch_for_message,
          [](const DeviceCall& call) {
            return Cost{1, size_of_message(call), 0};
          },
          NumericClass::any),
      make<AllReduceTwoShotMulticast>(
          "cuda.all_reduce_two_shot_multicast",
          "every rank loads the sums of its share and stores them to all through the switch: 2 "
          "rounds, 2S/n bytes (PyTorch)",
          Collective::all_reduce, scratch_for_two,
          [](const DeviceCall& call) {
            return Cost{2, 2 * size_of_message(call) / call.ranks, 0};
          },
          NumericClass::same_bits, true),
      make<ReduceScatterMulticast>(
          "cuda.reduce_scatter_multicast",
          "every rank loads the sums of its block from the switch: 1 round, S bytes (NCCL LDMC)",
          Collective::reduce_scatter, scratch_for_blocks,
          [](const DeviceCall& call) {
            return Cost{1, size_of_message(call), 0};
          },
          NumericClass::same_bits),
      make<AllGatherMulticast>(
          "cuda.all_gather_multicast",
          "every rank stores its block to all through the switch: 1 round, S bytes (NCCL STMC)",
          Collective::all_gather, scratch_for_blocks,
          [](const DeviceCall& call) {
            return Cost{1, size_of_message(call), 0};
          }),
      make<BroadcastMulticast>(
          "cuda.broadcast_multicast",
          "the root stores the message to all through the switch: 1 round, S bytes",
          Collective::broadcast, scratch_for_message, [](const DeviceCall& call) {
            return Cost{1, size_of_message(call), 0};
          })};
}

}  // namespace colltune::cuda
