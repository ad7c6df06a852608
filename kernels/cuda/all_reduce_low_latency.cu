// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// All-reduce in which the data itself shows that it has arrived: by a flag in each word (NCCL's LL;
// twice the bytes), a flag in each line of 128 bytes (NCCL's LL128; 16/15 of the bytes) or a word
// that is no longer poison (TensorRT-LLM). One-shot: every rank writes its whole input to every
// other one: 1 hop, (n - 1) S bytes. Two-shot: it writes each rank that rank's share, and its own
// reduced share to all: 2 hops, 2 (n - 1) S / n bytes (MSCCL++'s "packet").

#include "device_code/device_algorithm.h"
#include "device_code/line_wire.h"
#include "device_code/low_latency.h"
#include "device_code/poison_wire.h"

namespace colltune::cuda {

template <template <class> class Wire>
struct AllReduceOneShotWords {
  static constexpr bool reduces = true;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer& reducer) {
    using namespace device;
    Team<Context> team(context, call);
    Wire<Context> wire(team, call, call.bytes, team.base());
    const PacketRange all{0, Wire<Context>::units_of(call.bytes)};
    Wire<Context>::for_each_piece(context, all, [&](std::uint64_t index) {
      const Packet packet = Wire<Context>::read_from(call.send, index, call.bytes);
      for (int distance = 1; distance < call.ranks; ++distance) {
        const int peer = (call.rank + distance) % call.ranks;
        wire.write(peer, index, packet);
        wire.clear(peer, index);
      }
    });
    Wire<Context>::for_each_piece(context, all, [&](std::uint64_t index) {
      Wire<Context>::write_to(call.receive, index, call.bytes,
                              combine_from_all(wire, call, reducer, index, [&] {
                                return Wire<Context>::read_from(call.send, index, call.bytes);
                              }));
    });
    if (context.sync_block(wire.is_lost())) return;
    team.finish(1);
  }
};

template <template <class> class Wire>
struct AllReduceTwoShotWords {
  static constexpr bool reduces = true;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer& reducer) {
    using namespace device;
    Team<Context> team(context, call);
    // Lines of the inputs, then lines of the results.
    Wire<Context> wire(team, call, call.bytes, team.base(), 2);
    const std::uint64_t units = Wire<Context>::units_of(call.bytes);
    const auto for_each_peer = [&](auto act) {
      for (int distance = 1; distance < call.ranks; ++distance)
        act((call.rank + distance) % call.ranks);
    };
    for_each_peer([&](int peer) {
      Wire<Context>::for_each_piece(
          context, part_of(units, peer, call.ranks), [&](std::uint64_t index) {
            wire.write(peer, index, Wire<Context>::read_from(call.send, index, call.bytes));
            wire.clear(peer, index, 1);
          });
    });
    Wire<Context>::for_each_piece(
        context, part_of(units, call.rank, call.ranks), [&](std::uint64_t index) {
          const Packet result = combine_from_all(wire, call, reducer, index, [&] {
            return Wire<Context>::read_from(call.send, index, call.bytes);
          });
          Wire<Context>::write_to(call.receive, index, call.bytes, result);
          for_each_peer([&](int peer) {
            wire.write(peer, index, result, 1);
            wire.clear(peer, index);
          });
        });
    // The shares are taken side by side; the longest has one unit more than the shortest.
    const auto pieces = [&](int rank) {
      const PacketRange share = part_of(units, rank, call.ranks);
      return PacketRange{share.first * Wire<Context>::pieces_of_unit,
                         share.last * Wire<Context>::pieces_of_unit};
    };
    const auto most = (units + static_cast<std::uint64_t>(call.ranks) - 1) /
                      static_cast<std::uint64_t>(call.ranks);
    Wire<Context>::for_each_piece(context, {0, most}, [&](std::uint64_t at) {
      const auto place = [&](int rank) { return pieces(rank).first + at; };
      take_from_all(
          wire, call, 1, [&](int rank) { return place(rank) < pieces(rank).last; }, place,
          [] { return Packet{}; },
          [&](int rank, const Packet& packet) {
            if (rank != call.rank)  // whose share is already there
              Wire<Context>::write_to(call.receive, place(rank), call.bytes, packet);
          });
    });
    if (context.sync_block(wire.is_lost())) return;
    team.finish(1);
  }
};

namespace {

/// Lines between two ranks: one for inputs and, in two-shot, one for results.
template <template <class> class Wire, int lines>
std::uint64_t scratch_bytes(const device::DeviceCall& call) {
  return Wire<device::HostContext>::size(call, call.bytes, lines);
}

template <template <class> class Wire>
Cost cost_of_one_shot(const device::DeviceCall& call) {
  const double size = device::size_of_message(call);
  return {1, Wire<device::HostContext>::expansion * device::peers_of(call) * size,
          call.ranks * size};
}

template <template <class> class Wire>
Cost cost_of_two_shot(const device::DeviceCall& call) {
  const double size = device::size_of_message(call);
  return {2, Wire<device::HostContext>::expansion * 2 * device::peers_of(call) * size / call.ranks,
          size};
}

template <template <class> class Wire>
DeviceAlgorithms make(const std::string& protocol, const std::string& source) {
  DeviceAlgorithm one_shot{.name = "cuda.all_reduce_one_shot_" + protocol,
                           .description =
                               "every rank writes its input to the others: 1 hop, no "
                               "barrier (" +
                               source + ")",
                           .collective = Collective::all_reduce,
                           .scratch_bytes = scratch_bytes<Wire, 1>,
                           .cost = cost_of_one_shot<Wire>,
                           .scratch_fill = Wire<device::HostContext>::poison_byte,
                           .uses_registered = false,
                           .moves_packets = false,
                           .clears_words = Wire<device::HostContext>::clears_words,
                           .needs_whole_lines = Wire<device::HostContext>::needs_whole_lines};
  DeviceAlgorithm two_shot = one_shot;
  two_shot.name = "cuda.all_reduce_two_shot_" + protocol;
  two_shot.description =
      "shares to their reducers, results to all: 2 hops, no barrier (" + source + ")";
  two_shot.scratch_bytes = scratch_bytes<Wire, 2>;
  two_shot.cost = cost_of_two_shot<Wire>;
  two_shot.does_shares = true;
  return {make_device<AllReduceOneShotWords<Wire>>(std::move(one_shot)),
          make_device<AllReduceTwoShotWords<Wire>>(std::move(two_shot))};
}

}  // namespace

DeviceAlgorithms make_all_reduce_low_latency() {
  DeviceAlgorithms all = make<device::FlaggedWire>("low_latency", "NCCL LL, MSCCL++ packet");
  for (DeviceAlgorithm& algorithm : make<device::LineWire>("low_latency_128", "NCCL LL128"))
    all.push_back(std::move(algorithm));
  for (DeviceAlgorithm& algorithm : make<device::PoisonWire>("poison", "TensorRT-LLM"))
    all.push_back(std::move(algorithm));
  return all;
}

}  // namespace colltune::cuda
