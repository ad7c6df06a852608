// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// All-to-all in one round, (n - 1) S bytes per rank for blocks of S. Pull: every rank reads its
// blocks from the others. Push: every rank writes them (NVSHMEM's all-to-all). Plain buffers are
// staged in two slots in turn. In place a call could overwrite a block before its reader has read
// it, so everything is staged.

#include "device_code/device_algorithm.h"
#include "device_code/staging.h"
#include "device_code/team.h"

namespace colltune::cuda {

template <bool pushes>
struct AllToAll {
  static constexpr bool reduces = false;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer&) {
    using namespace device;
    Team<Context> team(context, call);
    const bool is_direct = call.registered && !call.in_place;
    const std::uint64_t block = whole_packets(call.bytes);
    const std::uint64_t slot = staging_slot(call, team.base() / 2);
    const auto staged = [&](int at, int of) {
      return block_of(data_of(call, at) + slot, of, block);
    };
    const auto copy_block = [&](std::byte* to, const std::byte* from) {
      copy_bytes(context, call, to, from, call.bytes);
    };
    const auto input = [&](int of) { return block_of(call.send, of, call.bytes); };
    const auto output = [&](int of) { return block_of(call.receive, of, call.bytes); };
    const auto for_each_peer = [&](auto act) {
      for (int distance = 1; distance < call.ranks; ++distance)
        act((call.rank + distance) % call.ranks);
    };

    if (!is_direct && !pushes)
      for_each_peer([&](int peer) { copy_block(staged(call.rank, peer), input(peer)); });
    if ((is_direct || !pushes) && !team.barrier(1)) return;
    if (pushes)
      for_each_peer([&](int peer) {
        const auto own = static_cast<std::uint64_t>(call.rank);
        team.put(is_direct ? team.result_of(peer, own * call.bytes)
                           : team.scratch_of(peer, slot + own * block),
                 input(peer), call.bytes);
      });
    else
      for_each_peer([&](int peer) {
        copy_block(output(peer), is_direct ? block_of(call.sends[peer], call.rank, call.bytes)
                                           : staged(peer, call.rank));
      });
    copy_block(output(call.rank), input(call.rank));
    if ((is_direct || pushes) && !team.barrier(2)) return;
    if (pushes && !is_direct)
      for_each_peer([&](int peer) { copy_block(output(peer), staged(call.rank, peer)); });
    team.finish(2);
  }
};

namespace {

std::uint64_t scratch_bytes(const device::DeviceCall& call) {
  return device::staging_bytes(static_cast<std::uint64_t>(call.ranks) *
                               device::whole_packets(call.bytes));
}

Cost cost(const device::DeviceCall& call) {
  return {1, device::peers_of(call) * device::size_of_message(call), 0};
}

}  // namespace

DeviceAlgorithms make_all_to_all() {
  return {make_device<AllToAll<false>>(
              {.name = "cuda.all_to_all_pull",
               .description = "every rank reads its blocks from the others: 1 round, (n-1)S bytes",
               .collective = Collective::all_to_all,
               .scratch_bytes = scratch_bytes,
               .cost = cost}),
          make_device<AllToAll<true>>(
              {.name = "cuda.all_to_all_push",
               .description = "every rank writes its blocks to the others: 1 round, (n-1)S bytes "
                              "(NVSHMEM)",
               .collective = Collective::all_to_all,
               .scratch_bytes = scratch_bytes,
               .cost = cost,
               .reaches_by_puts = true})};
}

}  // namespace colltune::cuda
