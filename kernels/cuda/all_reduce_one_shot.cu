// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// One-shot: every rank reads every rank's input and reduces all of it, in rank order. 1 round, (n -
// 1) S bytes read per rank (vLLM csrc/custom_all_reduce.cuh, PyTorch's one_shot_all_reduce). Plain
// inputs are staged in scratch memory of two slots in turn. A rank that begins a call has seen that
// all ranks began the one before, so no rank still reads the slot of two calls ago, and no second
// barrier is needed. Registered inputs are read directly, and a barrier at the end ensures that no
// rank reads them any more.

#include "device_code/device_algorithm.h"
#include "device_code/staging.h"
#include "device_code/team.h"

namespace colltune::cuda {

struct AllReduceOneShot {
  static constexpr bool reduces = true;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer& reducer) {
    using namespace device;
    Team<Context> team(context, call);
    const bool is_direct = call.registered && !call.in_place;
    const int steps = is_direct ? 2 : 1;
    const std::uint64_t slot = staging_slot(call, team.base() / static_cast<std::uint64_t>(steps));
    if (!is_direct)
      copy_bytes(context, call, data_of(call, call.rank) + slot, call.send, call.bytes);
    if (!team.barrier(1)) return;
    combine_packets(
        context, call, {0, packets_of(call.bytes)}, reducer,
        [&](int rank, std::uint64_t index) {
          const std::byte* const from = is_direct ? call.sends[rank] : data_of(call, rank) + slot;
          return read_packet<Context>(from, index, call.bytes);
        },
        [&](std::uint64_t index, const Packet& result) {
          write_packet<Context>(call.receive, index, call.bytes, result);
        });
    if (is_direct && !team.barrier(2)) return;
    team.finish(static_cast<std::uint64_t>(steps));
  }
};

DeviceAlgorithms make_all_reduce_one_shot() {
  return {make_device<AllReduceOneShot>(
      {.name = "cuda.all_reduce_one_shot",
       .description = "every rank reads all inputs: 1 round, (n-1)S bytes per rank (vLLM, PyTorch)",
       .collective = Collective::all_reduce,
       .scratch_bytes =
           [](const device::DeviceCall& call) { return device::staging_bytes(call.bytes); },
       .cost =
           [](const device::DeviceCall& call) {
             const double size = device::size_of_message(call);
             return Cost{1, device::peers_of(call) * size, call.ranks * size};
           }})};
}

}  // namespace colltune::cuda
