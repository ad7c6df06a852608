// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Reduce: each rank reduces its share of every rank's input, in rank order, and writes it to the
// root. 1 round; (n - 1) S / n bytes read per rank, as many written to the root. Plain buffers are
// staged in two slots in turn, each with the input and, at the root, the results.

#include "device_code/device_algorithm.h"
#include "device_code/staging.h"
#include "device_code/team.h"

namespace colltune::cuda {

struct ReduceTwoShot {
  static constexpr bool reduces = true;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer& reducer) {
    using namespace device;
    Team<Context> team(context, call);
    // In place the root's input is its output; each share is overwritten by its only reader.
    const bool is_direct = call.registered;
    const std::uint64_t whole = whole_packets(call.bytes);
    const std::uint64_t slot = staging_slot(call, team.base() / 2);
    const std::uint64_t packets = packets_of(call.bytes);
    const auto share = [&](int rank) { return part_of(packets, rank, call.ranks); };
    const auto copy_share = [&](int rank, std::byte* to, const std::byte* from) {
      copy_packets(context, call, share(rank), to, call.bytes, from, call.bytes);
    };
    if (!is_direct)
      for (int rank = 0; rank < call.ranks; ++rank)
        copy_share(rank, data_of(call, call.rank) + slot, call.send);
    if (!team.barrier(1)) return;
    std::byte* const to =
        is_direct ? call.receives[call.root] : data_of(call, call.root) + slot + whole;
    combine_packets(
        context, call, share(call.rank), reducer,
        [&](int rank, std::uint64_t index) {
          const std::byte* const from = is_direct ? call.sends[rank] : data_of(call, rank) + slot;
          return read_packet<Context>(from, index, call.bytes);
        },
        [&](std::uint64_t index, const Packet& result) {
          write_packet<Context>(to, index, call.bytes, result);
        });
    if (!team.barrier(2)) return;
    if (!is_direct && call.rank == call.root)
      for (int rank = 0; rank < call.ranks; ++rank) copy_share(rank, call.receive, to);
    team.finish(2);
  }
};

DeviceAlgorithms make_reduce_two_shot() {
  return {make_device<ReduceTwoShot>(
      {.name = "cuda.reduce_two_shot",
       .description = "every rank reduces its share and writes it to the root: 1 round, "
                      "2(n-1)S/n bytes per rank",
       .collective = Collective::reduce,
       .scratch_bytes =
           [](const device::DeviceCall& call) {
             return device::staging_bytes(2 * device::whole_packets(call.bytes));
           },
       .cost =
           [](const device::DeviceCall& call) {
             const double size = device::size_of_message(call);
             return Cost{1, 2 * device::peers_of(call) * size / call.ranks, size};
           },
       .does_shares = true})};
}

}  // namespace colltune::cuda
