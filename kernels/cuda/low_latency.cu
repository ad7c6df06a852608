// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Blocks between all ranks, whose words show by themselves that they have arrived: by a flag in
// each word (NCCL's LL; twice the bytes), by a flag in each line of 128 bytes (NCCL's LL128; 16/15
// of the bytes), or by no longer being poison (NCCL's custom algorithms). 1 hop, (n - 1) S bytes
// per rank for blocks of S. All-gather sends one block to all ranks, all-to-all a different one to
// each; reduce-scatter is an all-to-all whose blocks are combined in rank order.

#include "device_code/device_algorithm.h"
#include "device_code/line_wire.h"
#include "device_code/low_latency.h"
#include "device_code/poison_wire.h"

namespace colltune::cuda {

template <Collective collective, template <class> class Wire>
struct LowLatencyExchange {
  static constexpr bool reduces = collective == Collective::reduce_scatter;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer& reducer) {
    using namespace device;
    Team<Context> team(context, call);
    Wire<Context> wire(team, call, call.bytes, team.base());
    const PacketRange all{0, Wire<Context>::units_of(call.bytes)};
    const auto input = [&](int to, std::uint64_t index) {
      const std::byte* const from =
          collective == Collective::all_gather ? call.send : block_of(call.send, to, call.bytes);
      return Wire<Context>::read_from(from, index, call.bytes);
    };
    Wire<Context>::for_each_piece(context, all, [&](std::uint64_t index) {
      for (int distance = 1; distance < call.ranks; ++distance) {
        const int peer = (call.rank + distance) % call.ranks;
        wire.write(peer, index, input(peer, index));
        wire.clear(peer, index);
      }
    });
    Wire<Context>::for_each_piece(context, all, [&](std::uint64_t index) {
      const auto own = [&] { return input(call.rank, index); };
      if constexpr (collective == Collective::reduce_scatter) {
        Wire<Context>::write_to(call.receive, index, call.bytes,
                                combine_from_all(wire, call, reducer, index, own));
      } else {
        take_from_all(
            wire, call, 0, [](int) { return true; }, [&](int) { return index; }, own,
            [&](int rank, const Packet& packet) {
              Wire<Context>::write_to(block_of(call.receive, rank, call.bytes), index, call.bytes,
                                      packet);
            });
      }
    });
    if (context.sync_block(wire.is_lost())) return;
    team.finish(1);
  }
};

namespace {

template <Collective collective, template <class> class Wire>
DeviceAlgorithm make(const std::string& protocol, const std::string& description) {
  return make_device<LowLatencyExchange<collective, Wire>>(
      {.name = "cuda." + std::string(name_of(collective)) + "_" + protocol,
       .description = description + ": 1 hop, no barrier",
       .collective = collective,
       .scratch_bytes =
           [](const device::DeviceCall& call) {
             return Wire<device::HostContext>::size(call, call.bytes);
           },
       .cost =
           [](const device::DeviceCall& call) {
             const double size = device::size_of_message(call);
             return Cost{1, Wire<device::HostContext>::expansion * device::peers_of(call) * size,
                         collective == Collective::reduce_scatter ? call.ranks * size : 0};
           },
       .scratch_fill = Wire<device::HostContext>::poison_byte,
       .uses_registered = false,
       .moves_packets = false,
       .clears_words = Wire<device::HostContext>::clears_words,
       .needs_whole_lines = Wire<device::HostContext>::needs_whole_lines});
}

template <template <class> class Wire>
DeviceAlgorithms make_all(const std::string& protocol, const std::string& how) {
  return {make<Collective::all_gather, Wire>(protocol, "every rank writes its block" + how),
          make<Collective::all_to_all, Wire>(protocol, "every rank writes the blocks" + how),
          make<Collective::reduce_scatter, Wire>(
              protocol, "every rank writes the blocks" + how + " and combines its own")};
}

}  // namespace

DeviceAlgorithms make_low_latency() {
  DeviceAlgorithms all =
      make_all<device::FlaggedWire>("low_latency", ", each word with a flag (NCCL LL)");
  for (DeviceAlgorithm& algorithm : make_all<device::LineWire>(
           "low_latency_128", ", each line of 128 bytes with a flag (NCCL LL128)"))
    all.push_back(std::move(algorithm));
  for (DeviceAlgorithm& algorithm :
       make_all<device::PoisonWire>("poison", " over poison (NCCL's custom algorithms)"))
    all.push_back(std::move(algorithm));
  return all;
}

}  // namespace colltune::cuda
