// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Blocks moved by the copy engines, which leave the processors to others: the ranks meet, everyone
// copies, the ranks meet again: 1 round, the bytes of a flat algorithm (Triton-distributed's
// copy-engine all-gather, push and pull; MSCCL++). Only between registered buffers: the engines
// know no staging.

#include "device/device_algorithm.h"
#include "device/staging.h"
#include "device/team.h"

namespace colltune::cuda {

/// All that the kernel does.
struct Meeting {
  static constexpr bool reduces = false;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer&) {
    device::Team<Context> team(context, call);
    if (!team.barrier(1)) return;
    team.finish(1);
  }
};

namespace {

using device::block_of;
using device::DeviceCall;
using device::DeviceCopies;

std::uint64_t no_scratch(const DeviceCall&) { return 0; }

/// The blocks of all others are read, or written, by each rank.
Cost cost_of_all(const DeviceCall& call) {
  return {1, device::peers_of(call) * device::size_of_message(call), 0};
}
/// By the root, or from it.
Cost cost_of_root(const DeviceCall& call) { return cost_of_all(call); }
Cost cost_of_one(const DeviceCall& call) { return {1, device::size_of_message(call), 0}; }

/// Calls `act(rank)` for all ranks, from the next one on, so that not all meet at one.
template <class Act>
void for_each_rank(const DeviceCall& call, Act act) {
  for (int distance = 1; distance <= call.ranks; ++distance)
    act((call.rank + distance) % call.ranks);
}

DeviceAlgorithm make(const std::string& name, Collective collective, const std::string& description,
                     Cost (*cost)(const DeviceCall&),
                     void (*list_copies)(const DeviceCall&, DeviceCopies&)) {
  return make_device<Meeting>({.name = "cuda." + name,
                               .description = description,
                               .collective = collective,
                               .scratch_bytes = no_scratch,
                               .cost = cost,
                               .list_copies = list_copies});
}

}  // namespace

DeviceAlgorithms make_copy_engine() {
  DeviceAlgorithms all{
      make("all_gather_copy_pull", Collective::all_gather,
           "copy engines read the others' blocks: 1 round, (n-1)S bytes (Triton-distributed)",
           cost_of_all,
           [](const DeviceCall& call, DeviceCopies& copies) {
             for_each_rank(call, [&](int rank) {
               copies.push_back(
                   {block_of(call.receive, rank, call.bytes), call.sends[rank], call.bytes});
             });
           }),
      make("all_gather_copy_push", Collective::all_gather,
           "copy engines write the block to the others: 1 round, (n-1)S bytes (Triton-distributed)",
           cost_of_all,
           [](const DeviceCall& call, DeviceCopies& copies) {
             for_each_rank(call, [&](int rank) {
               copies.push_back(
                   {block_of(call.receives[rank], call.rank, call.bytes), call.send, call.bytes});
             });
           }),
      make("all_to_all_copy_pull", Collective::all_to_all,
           "copy engines read the blocks from the others: 1 round, (n-1)S bytes", cost_of_all,
           [](const DeviceCall& call, DeviceCopies& copies) {
             for_each_rank(call, [&](int rank) {
               copies.push_back({block_of(call.receive, rank, call.bytes),
                                 block_of(call.sends[rank], call.rank, call.bytes), call.bytes});
             });
           }),
      make("broadcast_copy_pull", Collective::broadcast,
           "copy engines read the root's message: 1 round, S bytes per rank", cost_of_one,
           [](const DeviceCall& call, DeviceCopies& copies) {
             copies.push_back({call.receive, call.sends[call.root], call.bytes});
           }),
      make("gather_copy_pull", Collective::gather,
           "the root's copy engines read all blocks: 1 round, (n-1)S bytes", cost_of_root,
           [](const DeviceCall& call, DeviceCopies& copies) {
             if (call.rank != call.root) return;
             for_each_rank(call, [&](int rank) {
               copies.push_back(
                   {block_of(call.receive, rank, call.bytes), call.sends[rank], call.bytes});
             });
           }),
      make("scatter_copy_pull", Collective::scatter,
           "copy engines read each rank's block from the root: 1 round, (n-1)S bytes", cost_of_root,
           [](const DeviceCall& call, DeviceCopies& copies) {
             copies.push_back({call.receive, block_of(call.sends[call.root], call.rank, call.bytes),
                               call.bytes});
           })};
  for (DeviceAlgorithm& algorithm : all)
    // In place a block would be overwritten before its reader has read it.
    algorithm.works_in_place = algorithm.collective != Collective::all_to_all;
  return all;
}

}  // namespace colltune::cuda
