// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// All-gather in one round, (n - 1) S bytes per rank for blocks of S. Pull: every rank reads the
// others' blocks. Push: every rank writes its block to the others (NCCL's symmetric kernel "ST",
// src/device/symmetric/all_gather.cuh). Plain blocks are staged in two slots in turn. Registered
// buffers are read or written directly, in place too, since no other rank writes a rank's own
// block.

#include "device_code/device_algorithm.h"
#include "device_code/staging.h"
#include "device_code/team.h"

namespace colltune::cuda {

struct AllGatherPull {
  static constexpr bool reduces = false;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer&) {
    using namespace device;
    Team<Context> team(context, call);
    const bool is_direct = call.registered;
    const std::uint64_t steps = is_direct ? 2 : 1;
    const std::uint64_t slot = staging_slot(call, team.base() / steps);
    if (!is_direct)
      copy_bytes(context, call, data_of(call, call.rank) + slot, call.send, call.bytes);
    copy_bytes(context, call, block_of(call.receive, call.rank, call.bytes), call.send, call.bytes);
    if (!team.barrier(1)) return;
    for (int distance = 1; distance < call.ranks; ++distance) {
      const int peer = (call.rank + distance) % call.ranks;
      const std::byte* const from = is_direct ? call.sends[peer] : data_of(call, peer) + slot;
      copy_bytes(context, call, block_of(call.receive, peer, call.bytes), from, call.bytes);
    }
    if (is_direct && !team.barrier(2)) return;
    team.finish(steps);
  }
};

struct AllGatherPush {
  static constexpr bool reduces = false;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer&) {
    using namespace device;
    Team<Context> team(context, call);
    const bool is_direct = call.registered;
    const std::uint64_t block = whole_packets(call.bytes);
    const std::uint64_t slot = staging_slot(call, team.base() / 2);
    const auto place = [&](int of) { return slot + static_cast<std::uint64_t>(of) * block; };
    // No rank's receive buffer is written before it has begun the call. Slots of scratch memory are
    // free: a rank that begins a call has seen the end of the one before, which all ranks had
    // begun.
    if (is_direct && !team.barrier(1)) return;
    for (int distance = 1; distance < call.ranks; ++distance) {
      const int peer = (call.rank + distance) % call.ranks;
      const auto to = is_direct
                          ? team.result_of(peer, static_cast<std::uint64_t>(call.rank) * call.bytes)
                          : team.scratch_of(peer, place(call.rank));
      team.put(to, call.send, call.bytes);
    }
    copy_bytes(context, call, block_of(call.receive, call.rank, call.bytes), call.send, call.bytes);
    if (!team.barrier(2)) return;
    if (!is_direct)
      for (int distance = 1; distance < call.ranks; ++distance) {
        const int peer = (call.rank + distance) % call.ranks;
        copy_bytes(context, call, block_of(call.receive, peer, call.bytes),
                   data_of(call, call.rank) + place(peer), call.bytes);
      }
    team.finish(2);
  }
};

namespace {

Cost cost(const device::DeviceCall& call) {
  return {1, device::peers_of(call) * device::size_of_message(call), 0};
}

}  // namespace

DeviceAlgorithms make_all_gather() {
  return {make_device<AllGatherPull>(
              {.name = "cuda.all_gather_pull",
               .description = "every rank reads the others' blocks: 1 round, (n-1)S bytes",
               .collective = Collective::all_gather,
               .scratch_bytes =
                   [](const device::DeviceCall& call) { return device::staging_bytes(call.bytes); },
               .cost = cost}),
          make_device<AllGatherPush>(
              {.name = "cuda.all_gather_push",
               .description = "every rank writes its block to the others: 1 round, (n-1)S bytes "
                              "(NCCL's symmetric ST kernel)",
               .collective = Collective::all_gather,
               .scratch_bytes =
                   [](const device::DeviceCall& call) {
                     return device::staging_bytes(static_cast<std::uint64_t>(call.ranks) *
                                                  device::whole_packets(call.bytes));
                   },
               .cost = cost,
               .reaches_by_puts = true})};
}

}  // namespace colltune::cuda
