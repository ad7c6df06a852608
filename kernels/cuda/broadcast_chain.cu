// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Broadcast down a chain from the root, chunk by chunk: S bytes in and out of each rank, n - 1 hops
// until the first chunk reaches the end (pipelined chain; NCCL's broadcast). A remainder after the
// whole chunks is one more chunk, however short. Registered buffers are written in place. Plain
// ones go through `slots` slots of one chunk on each rank; a slot is written again once it has been
// given back.

#include "device_code/device_algorithm.h"
#include "device_code/staging.h"
#include "device_code/team.h"

namespace colltune::cuda {
namespace {

COLLTUNE_DEVICE std::uint64_t chunk_bytes(const device::DeviceCall& call) {
  const std::uint64_t all = device::whole_packets(call.bytes);
  const std::uint64_t wanted = call.chunk / device::packet_bytes * device::packet_bytes;
  return wanted != 0 && wanted < all ? wanted : all;
}

}  // namespace

struct BroadcastChain {
  static constexpr bool reduces = false;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer&) {
    using namespace device;
    Team<Context> team(context, call);
    const bool is_direct = call.registered;
    const bool is_root = call.rank == call.root;
    const int next = (call.rank + 1) % call.ranks;
    const int before = (call.rank + call.ranks - 1) % call.ranks;
    const bool is_end = next == call.root;
    const std::uint64_t chunk = chunk_bytes(call);
    const auto slots = static_cast<std::uint64_t>(call.slots);
    std::uint64_t number = 0;
    // No rank's receive buffer is written before it has begun the call.
    if (!team.barrier(1)) return;
    for (std::uint64_t first = 0; first < call.bytes; first += chunk, ++number) {
      const std::uint64_t size = call.bytes - first < chunk ? call.bytes - first : chunk;
      const std::uint64_t slot = number % slots * chunk;
      if (!is_root && !team.await(before, number + 2)) return;
      const std::byte* const from = is_root     ? call.send + first
                                    : is_direct ? call.receive + first
                                                : data_of(call, call.rank) + slot;
      if (!is_end) {
        if (!is_direct && number >= slots && !team.await(next, number - slots + 2, Channel::credit))
          return;
        team.put_with_signal(next,
                             is_direct ? team.result_of(next, first) : team.scratch_of(next, slot),
                             from, size, number + 2);
      }
      if (is_root || !is_direct) copy_bytes(context, call, call.receive + first, from, size);
      if (!is_root && !is_direct) team.post(before, number + 2, Channel::credit);
    }
    // The next call writes slots of scratch memory only after they have been read.
    if (!team.barrier(number + 2)) return;
    team.finish(number + 2);
  }
};

DeviceAlgorithms make_broadcast_chain() {
  return {make_device<BroadcastChain>(
      {.name = "cuda.broadcast_chain",
       .description = "chunks down a chain: n-1+S/chunk steps, S bytes per rank (NCCL)",
       .collective = Collective::broadcast,
       .scratch_bytes =
           [](const device::DeviceCall& call) {
             return static_cast<std::uint64_t>(call.slots) * chunk_bytes(call);
           },
       .cost =
           [](const device::DeviceCall& call) {
             const double size = device::size_of_message(call);
             const auto chunk = static_cast<double>(chunk_bytes(call));
             return Cost{device::peers_of(call) + (chunk > 0 ? size / chunk : 0), size, 0};
           },
       .has_chunks = true,
       .reaches_by_puts = true})};
}

}  // namespace colltune::cuda
