// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter in one round: every rank reads its block of every rank's input and reduces the
// blocks in rank order, (n - 1) S bytes for blocks of S (NCCL's symmetric kernel "LD",
// src/device/symmetric/reduce_scatter.cuh). Plain inputs are staged in two slots in turn.

#include "device_code/device_algorithm.h"
#include "device_code/staging.h"
#include "device_code/team.h"

namespace colltune::cuda {

struct ReduceScatterPull {
  static constexpr bool reduces = true;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer& reducer) {
    using namespace device;
    Team<Context> team(context, call);
    // In place a rank overwrites its own block of its input, which no other rank reads.
    const bool is_direct = call.registered;
    const std::uint64_t steps = is_direct ? 2 : 1;
    const std::uint64_t block = whole_packets(call.bytes);
    const std::uint64_t slot = staging_slot(call, team.base() / steps);
    if (!is_direct)
      for (int rank = 0; rank < call.ranks; ++rank)
        copy_bytes(context, call, block_of(data_of(call, call.rank) + slot, rank, block),
                   block_of(call.send, rank, call.bytes), call.bytes);
    if (!team.barrier(1)) return;
    const std::uint64_t own =
        static_cast<std::uint64_t>(call.rank) * (is_direct ? call.bytes : block);
    combine_packets(
        context, call, {0, packets_of(call.bytes)}, reducer,
        [&](int rank, std::uint64_t index) {
          const std::byte* const from =
              (is_direct ? call.sends[rank] : data_of(call, rank) + slot) + own;
          return read_packet<Context>(from, index, call.bytes);
        },
        [&](std::uint64_t index, const Packet& result) {
          write_packet<Context>(call.receive, index, call.bytes, result);
        });
    if (is_direct && !team.barrier(2)) return;
    team.finish(steps);
  }
};

DeviceAlgorithms make_reduce_scatter() {
  return {make_device<ReduceScatterPull>(
      {.name = "cuda.reduce_scatter_pull",
       .description = "every rank reads its block of all inputs: 1 round, (n-1)S bytes (NCCL's "
                      "symmetric LD kernel)",
       .collective = Collective::reduce_scatter,
       .scratch_bytes =
           [](const device::DeviceCall& call) {
             return device::staging_bytes(static_cast<std::uint64_t>(call.ranks) *
                                          device::whole_packets(call.bytes));
           },
       .cost =
           [](const device::DeviceCall& call) {
             const double size = device::size_of_message(call);
             return Cost{1, device::peers_of(call) * size, call.ranks * size};
           }})};
}

}  // namespace colltune::cuda
