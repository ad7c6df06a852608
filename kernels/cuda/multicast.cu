// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What NVLink's switches can do (NVLS): a packet stored once reaches the memory of all ranks, and
// one load gives the sum over all. All through scratch memory, in two slots in turn as elsewhere.
// One-shot all-reduce: inputs into scratch memory, then everyone loads the sums of all: 1 round, S
// bytes per rank. Two-shot: everyone loads the sums of its share and stores them to all: 2 rounds,
// 2 S / n bytes. Reduce-scatter: everyone loads the sums of its block. Broadcast and all-gather:
// the message is stored to all. (PyTorch's multimem_one_shot and two_shot, NCCL's symmetric kernels
// LDMC, STMC.)

#include "device/device_algorithm.h"
#include "device/staging.h"
#include "device/team.h"

namespace colltune::cuda {
namespace {

/// The last result from the sum: averages are divided.
template <class Reducer>
COLLTUNE_DEVICE device::Packet result_of(const Reducer& reducer, const device::Packet& sum) {
  return reducer.finish(reducer.first(sum), true);
}

/// Copies `bytes` bytes to `to` in whole packets, zeros behind them: all of a packet is added up.
template <class Context>
COLLTUNE_DEVICE void stage(const Context& context, std::byte* to, const std::byte* from,
                           std::uint64_t bytes) {
  using namespace device;
  for_each_packet(context, {0, packets_of(bytes)}, [&](std::uint64_t index) {
    write_packet(to, index, whole_packets(bytes), read_packet(from, index, bytes));
  });
}

/// Where slot `slot`'s packet `index` lies in everybody's scratch memory.
COLLTUNE_DEVICE std::uint64_t place_of(std::uint64_t slot, std::uint64_t index) {
  return device::signals_size + slot + index * device::packet_bytes;
}

/// The sums of what all ranks have at `slot`, as the caller's results.
template <class Context, class Reducer>
COLLTUNE_DEVICE void receive_sums(Context& context, const device::DeviceCall& call,
                                  std::uint64_t slot, const Reducer& reducer) {
  device::for_each_packet(context, {0, device::packets_of(call.bytes)}, [&](std::uint64_t index) {
    const device::Packet sum = context.sum_everywhere(call, place_of(slot, index), reducer);
    device::write_packet(call.receive, index, call.bytes, result_of(reducer, sum));
  });
}

/// What the caller sends, to all ranks' `slot`.
template <class Context>
COLLTUNE_DEVICE void send_to_all(Context& context, const device::DeviceCall& call,
                                 std::uint64_t slot) {
  device::for_each_packet(context, {0, device::packets_of(call.bytes)}, [&](std::uint64_t index) {
    context.store_everywhere(call, place_of(slot, index),
                             device::read_packet(call.send, index, call.bytes));
  });
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
    const std::uint64_t slot = staging_slot(team.base(), call.bytes);
    stage(context, data_of(call, call.rank) + slot, call.send, call.bytes);
    if (!team.barrier(1)) return;
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
    const std::uint64_t slot = staging_slot(team.base() / 2, 2 * whole);
    const std::uint64_t packets = packets_of(call.bytes);
    const auto for_each_of = [&](int rank, auto act) {
      for_each_packet(context, part_of(packets, rank, call.ranks), act);
    };
    std::byte* const own = data_of(call, call.rank) + slot;
    for (int rank = 0; rank < call.ranks; ++rank)
      for_each_of(rank, [&](std::uint64_t index) {
        write_packet(own, index, whole, read_packet(call.send, index, call.bytes));
      });
    if (!team.barrier(1)) return;
    for_each_of(call.rank, [&](std::uint64_t index) {
      const Packet sum = context.sum_everywhere(call, place_of(slot, index), reducer);
      context.store_everywhere(call, place_of(slot + whole, index), result_of(reducer, sum));
    });
    if (!team.barrier(2)) return;
    for (int rank = 0; rank < call.ranks; ++rank)
      for_each_of(rank, [&](std::uint64_t index) {
        write_packet(call.receive, index, call.bytes, read_packet(own + whole, index, whole));
      });
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
    const std::uint64_t slot =
        staging_slot(team.base(), static_cast<std::uint64_t>(call.ranks) * block);
    for (int rank = 0; rank < call.ranks; ++rank)
      stage(context, block_of(data_of(call, call.rank) + slot, rank, block),
            block_of(call.send, rank, call.bytes), call.bytes);
    if (!team.barrier(1)) return;
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
    const std::uint64_t slot =
        staging_slot(team.base(), static_cast<std::uint64_t>(call.ranks) * block);
    // Slots are free: who begins a call has seen the end of the one before, which all had begun.
    send_to_all(context, call, slot + static_cast<std::uint64_t>(call.rank) * block);
    if (!team.barrier(1)) return;
    for (int rank = 0; rank < call.ranks; ++rank)
      copy_bytes(context, block_of(call.receive, rank, call.bytes),
                 block_of(data_of(call, call.rank) + slot, rank, block), call.bytes);
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
    const std::uint64_t slot = staging_slot(team.base(), call.bytes);
    if (call.rank == call.root) send_to_all(context, call, slot);
    if (!team.barrier(1)) return;
    const std::byte* const from =
        call.rank == call.root ? call.send : data_of(call, call.rank) + slot;
    copy_bytes(context, call.receive, from, call.bytes);
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
                     NumericClass numeric_class = NumericClass::rank_order) {
  return make_device<Body>({.name = name,
                            .description = description,
                            .collective = collective,
                            .scratch_bytes = scratch_bytes,
                            .cost = cost,
                            .numeric_class = numeric_class,
                            .uses_registered = false,
                            .needs_multicast = true});
}

}  // namespace

DeviceAlgorithms make_multicast() {
  return {
      // Each rank's load is a sum of its own: nobody promises the same order.
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
          NumericClass::same_bits),
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
