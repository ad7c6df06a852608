// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Two-shot: each rank reduces its share of every rank's input, in rank order, then the shares are
// collected. 2 rounds, 2 (n - 1) S / n bytes per rank (vLLM csrc/custom_all_reduce.cuh, PyTorch's
// two_shot_all_reduce_). The second round pulls (every rank reads the others' shares) or pushes
// (each share is written to every rank as it is made). Plain buffers are staged in two slots in
// turn, as in one-shot. Registered ones are read and written directly, in place too: before a share
// is overwritten, only its owner reads it.

#include "device_code/device_algorithm.h"
#include "device_code/staging.h"
#include "device_code/team.h"

namespace colltune::cuda {
namespace {

/// A slot of staging has the input, then the results.
std::uint64_t scratch_bytes(const device::DeviceCall& call) {
  return device::staging_bytes(2 * device::whole_packets(call.bytes));
}

Cost cost(const device::DeviceCall& call) {
  const double size = device::size_of_message(call);
  return {2, 2 * device::peers_of(call) * size / call.ranks, size};
}

}  // namespace

template <bool pushes>
struct AllReduceTwoShot {
  static constexpr bool reduces = true;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer& reducer) {
    using namespace device;
    Team<Context> team(context, call);
    const bool is_direct = call.registered;
    const std::uint64_t steps = is_direct && !pushes ? 3 : 2;
    const std::uint64_t slot = staging_slot(call, team.base() / steps);
    const std::uint64_t results = slot + whole_packets(call.bytes);
    const std::uint64_t packets = packets_of(call.bytes);
    const auto share = [&](int rank) { return part_of(packets, rank, call.ranks); };
    const auto copy_share = [&](int rank, std::byte* to, const std::byte* from) {
      copy_packets(context, call, share(rank), to, call.bytes, from, call.bytes);
    };

    // Share by share: a block stages what the peers' blocks of the same number will read.
    if (!is_direct)
      for (int rank = 0; rank < call.ranks; ++rank)
        copy_share(rank, data_of(call, call.rank) + slot, call.send);
    if (!team.barrier(1)) return;
    combine_packets(
        context, call, share(call.rank), reducer,
        [&](int rank, std::uint64_t index) {
          const std::byte* const from = is_direct ? call.sends[rank] : data_of(call, rank) + slot;
          return read_packet<Context>(from, index, call.bytes);
        },
        [&](std::uint64_t index, const Packet& result) {
          write_packet<Context>(call.receive, index, call.bytes, result);
          if constexpr (pushes) {
            COLLTUNE_NO_UNROLL
            for (int distance = 1; distance < call.ranks; ++distance) {
              const int peer = (call.rank + distance) % call.ranks;
              write_packet<Context>(is_direct ? call.receives[peer] : data_of(call, peer) + results,
                                    index, call.bytes, result);
            }
          } else if (!is_direct) {
            write_packet<Context>(data_of(call, call.rank) + results, index, call.bytes, result);
          }
        });
    if (!team.barrier(2)) return;
    if (!(pushes && is_direct))
      for (int distance = 1; distance < call.ranks; ++distance) {
        const int peer = (call.rank + distance) % call.ranks;
        const std::byte* const from = is_direct ? call.receives[peer]
                                      : pushes  ? data_of(call, call.rank) + results
                                                : data_of(call, peer) + results;
        copy_share(peer, call.receive, from);
      }
    // No rank returns while a peer reads its results.
    if (is_direct && !pushes && !team.barrier(3)) return;
    team.finish(steps);
  }
};

DeviceAlgorithms make_all_reduce_two_shot() {
  return {make_device<AllReduceTwoShot<false>>(
              {.name = "cuda.all_reduce_two_shot_pull",
               .description = "every rank reduces its share and reads the others': 2 rounds, "
                              "2(n-1)S/n bytes per rank (vLLM)",
               .collective = Collective::all_reduce,
               .scratch_bytes = scratch_bytes,
               .cost = cost,
               .does_shares = true}),
          make_device<AllReduceTwoShot<true>>(
              {.name = "cuda.all_reduce_two_shot_push",
               .description = "every rank reduces its share and writes it to the others: 2 "
                              "rounds, 2(n-1)S/n bytes per rank (PyTorch)",
               .collective = Collective::all_reduce,
               .scratch_bytes = scratch_bytes,
               .cost = cost,
               .does_shares = true})};
}

}  // namespace colltune::cuda
