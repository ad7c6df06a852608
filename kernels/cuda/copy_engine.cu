// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Blocks moved by the copy engines, which leaves the multiprocessors to other kernels. The ranks
// meet, each copies, the ranks meet again: 1 round, the bytes of a flat algorithm
// (Triton-distributed's copy-engine all-gather, push and pull; MSCCL++). Only between registered
// buffers: copy engines cannot stage. A reduce-scatter moves the blocks this way, then each rank
// reduces what it received (Triton-distributed's copy-engine scatter with local reduction). A few
// blocks suffice for that, so most multiprocessors stay free.

#include "device_code/device_algorithm.h"
#include "device_code/staging.h"
#include "device_code/team.h"

namespace colltune::cuda {

/// The kernel only lets the ranks meet.
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

/// Before the copies the ranks meet; after them they meet again and reduce what arrived. Both are
/// calls of the body, which tells them apart by the counters.
struct MeetingThenReduction {
  static constexpr bool reduces = true;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer& reducer) {
    using namespace device;
    Team<Context> team(context, call);
    const bool is_after = team.base() % 2 == 1;
    if (!team.barrier(1)) return;
    if (is_after) {
      const std::byte* const own = block_of(call.send, call.rank, call.bytes);
      const std::uint64_t block = whole_packets(call.bytes);
      combine_packets(
          context, call, {0, packets_of(call.bytes)}, reducer,
          [&](int rank, std::uint64_t index) {
            return read_packet<Context>(
                rank == call.rank ? own : block_of(data_of(call, call.rank), rank, block), index,
                call.bytes);
          },
          [&](std::uint64_t index, const Packet& result) {
            write_packet<Context>(call.receive, index, call.bytes, result);
          });
    }
    team.finish(1);
  }
};

namespace {

using device::block_of;
using device::DeviceCall;
using device::DeviceCopies;

std::uint64_t no_scratch(const DeviceCall&) { return 0; }
/// Room for a block from every rank.
std::uint64_t scratch_for_blocks(const DeviceCall& call) {
  return static_cast<std::uint64_t>(call.ranks) * device::whole_packets(call.bytes);
}
/// Where rank `at` receives the block of rank `from`.
std::byte* place_of_block(const DeviceCall& call, int at, int from) {
  return block_of(device::data_of(call, at), from, device::whole_packets(call.bytes));
}

/// Each rank reads, or writes, the blocks of all others.
Cost cost_of_all(const DeviceCall& call) {
  return {1, device::peers_of(call) * device::size_of_message(call), 0};
}
/// The root reads or writes them all.
Cost cost_of_root(const DeviceCall& call) { return cost_of_all(call); }
Cost cost_of_reduction(const DeviceCall& call) {
  return {1, device::peers_of(call) * device::size_of_message(call),
          call.ranks * device::size_of_message(call)};
}
Cost cost_of_one(const DeviceCall& call) { return {1, device::size_of_message(call), 0}; }

/// Calls `act(rank)` for all other ranks, starting at the next one, so that they do not all address
/// the same rank at once.
template <class Act>
void for_each_peer(const DeviceCall& call, Act act) {
  for (int distance = 1; distance < call.ranks; ++distance)
    act((call.rank + distance) % call.ranks);
}
/// The same, then for the rank itself.
template <class Act>
void for_each_rank(const DeviceCall& call, Act act) {
  for_each_peer(call, act);
  act(call.rank);
}

DeviceAlgorithm make(const std::string& name, Collective collective, const std::string& description,
                     Cost (*cost)(const DeviceCall&),
                     void (*list_copies)(const DeviceCall&, DeviceCopies&)) {
  return make_device<Meeting>({.name = "cuda." + name,
                               .description = description,
                               .collective = collective,
                               .scratch_bytes = no_scratch,
                               .cost = cost,
                               .moves_packets = false,
                               .list_copies = list_copies});
}

DeviceAlgorithm make_reduce_scatter(const std::string& name, const std::string& description,
                                    void (*list_copies)(const DeviceCall&, DeviceCopies&)) {
  return make_device<MeetingThenReduction>({.name = "cuda." + name,
                                            .description = description,
                                            .collective = Collective::reduce_scatter,
                                            .scratch_bytes = scratch_for_blocks,
                                            .cost = cost_of_reduction,
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
      make_reduce_scatter(
          "reduce_scatter_copy_pull",
          "copy engines read the rank's block of all inputs, then few blocks of threads reduce "
          "them: 1 round, (n-1)S bytes (Triton-distributed)",
          [](const DeviceCall& call, DeviceCopies& copies) {
            for_each_peer(call, [&](int rank) {
              copies.push_back({place_of_block(call, call.rank, rank),
                                block_of(call.sends[rank], call.rank, call.bytes), call.bytes});
            });
          }),
      make_reduce_scatter(
          "reduce_scatter_copy_push",
          "copy engines write the others' blocks of the input to them, then few blocks of threads "
          "reduce what came: 1 round, (n-1)S bytes (Triton-distributed)",
          [](const DeviceCall& call, DeviceCopies& copies) {
            for_each_peer(call, [&](int rank) {
              copies.push_back({place_of_block(call, rank, call.rank),
                                block_of(call.send, rank, call.bytes), call.bytes});
            });
          }),
      make("scatter_copy_pull", Collective::scatter,
           "copy engines read each rank's block from the root: 1 round, (n-1)S bytes", cost_of_root,
           [](const DeviceCall& call, DeviceCopies& copies) {
             copies.push_back({call.receive, block_of(call.sends[call.root], call.rank, call.bytes),
                               call.bytes});
           })};
  for (DeviceAlgorithm& algorithm : all)
    // In place a block would be overwritten before its reader had read it.
    algorithm.works_in_place = algorithm.collective != Collective::all_to_all;
  return all;
}

}  // namespace colltune::cuda
