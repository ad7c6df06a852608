// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter and all-gather in a pipeline. The message goes in windows of n segments of `chunk`
// bytes, one segment per rank. Every rank writes the others' segments to them, reduces its own in
// rank order, and writes the result to all: 2 (n - 1) S / n bytes per rank. While the inputs of one
// window are in flight, the window before is reduced and the one before that is collected, so the
// links never idle between the two rounds of a window (PyTorch's and Triton-distributed's pipelined
// two-shot). At most `slots` windows are in flight. A remainder after the whole windows is one more
// window, however short. All data goes through scratch memory: for registered buffers, two_shot
// moves the message without it, in one window.

#include "device_code/device_algorithm.h"
#include "device_code/staging.h"
#include "device_code/team.h"

namespace colltune::cuda {
namespace {

/// The step that a rank announces: it handles window k's inputs, then window k - 1's results.
COLLTUNE_DEVICE std::uint64_t inputs_of(std::uint64_t window) { return 2 * window + 1; }
COLLTUNE_DEVICE std::uint64_t results_of(std::uint64_t window) { return 2 * window + 4; }

}  // namespace

struct AllReducePipeline {
  static constexpr bool reduces = true;

  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context& context, const device::DeviceCall& call,
                                  const Reducer& reducer) {
    using namespace device;
    Team<Context> team(context, call);
    const auto slots = static_cast<std::uint64_t>(call.slots);
    const std::uint64_t windows = windows_of(call);
    const std::uint64_t of_window = packets_of_window(call);
    const std::uint64_t packets = packets_of(call.bytes);
    const std::uint64_t whole = packets * packet_bytes;
    const auto range = [&](std::uint64_t window, int of) {
      const std::uint64_t first = window * of_window;
      const std::uint64_t here = packets - first < of_window ? packets - first : of_window;
      const PacketRange part = part_of(here, of, call.ranks);
      return PacketRange{first + part.first, first + part.last};
    };
    // Segments lie at the same places in calls of any size: results of the call before may still be
    // read when the next one's inputs come.
    const std::uint64_t place_bytes =
        call.scratch_bytes / (2 * slots * static_cast<std::uint64_t>(call.ranks));
    // A segment in scratch memory: in round 0 the inputs from rank `of`, in round 1 the results by
    // rank `of`.
    const auto place = [&](std::uint64_t window, std::uint64_t round, int of) {
      const std::uint64_t row = window % slots * 2 + round;
      return (row * static_cast<std::uint64_t>(call.ranks) + static_cast<std::uint64_t>(of)) *
             place_bytes;
    };
    const std::byte* const own = data_of(call, call.rank);
    const auto peer_at = [&](int distance) { return (call.rank + distance) % call.ranks; };
    const auto await_all = [&](std::uint64_t step, Channel channel) {
      for (int distance = 1; distance < call.ranks; ++distance)
        if (!team.await(peer_at(distance), step, channel)) return false;
      return true;
    };
    const auto post_all = [&](std::uint64_t step, Channel channel) {
      for (int distance = 1; distance < call.ranks; ++distance)
        team.post(peer_at(distance), step, channel);
    };

    const auto send_inputs = [&](std::uint64_t window) {
      // A rank that has sent the results of a window has read its inputs.
      if (window >= slots && !await_all(results_of(window - slots), Channel::progress))
        return false;
      for (int distance = 1; distance < call.ranks; ++distance) {
        const int peer = peer_at(distance);
        const PacketRange segment = range(window, peer);
        const auto to = team.scratch_of(peer, place(window, 0, call.rank));
        move_packets(
            context, call, segment,
            [&](std::uint64_t index) { return read_packet<Context>(call.send, index, call.bytes); },
            [&](std::uint64_t index, const Packet& packet) {
              team.put_packet(to, index - segment.first, whole, packet);
            });
      }
      post_all(inputs_of(window), Channel::progress);
      return true;
    };
    const auto reduce_segment = [&](std::uint64_t window) {
      if (!await_all(inputs_of(window), Channel::progress)) return false;
      if (window >= slots && !await_all(window - slots + 1, Channel::credit)) return false;
      const PacketRange segment = range(window, call.rank);
      // Packet by packet: with several packets at once, and stores to all peers, registers run out.
      combine_packets<false>(
          context, call, segment, reducer,
          [&](int rank, std::uint64_t index) {
            return rank == call.rank ? read_packet<Context>(call.send, index, call.bytes)
                                     : read_packet<Context>(own + place(window, 0, rank),
                                                            index - segment.first, whole);
          },
          [&](std::uint64_t index, const Packet& result) {
            write_packet<Context>(call.receive, index, call.bytes, result);
            COLLTUNE_NO_UNROLL
            for (int distance = 1; distance < call.ranks; ++distance)
              team.put_packet(team.scratch_of(peer_at(distance), place(window, 1, call.rank)),
                              index - segment.first, whole, result);
          });
      post_all(results_of(window), Channel::progress);
      return true;
    };
    const auto collect_results = [&](std::uint64_t window) {
      if (!await_all(results_of(window), Channel::progress)) return false;
      for (int distance = 1; distance < call.ranks; ++distance) {
        const int peer = peer_at(distance);
        const PacketRange segment = range(window, peer);
        const std::byte* const from = own + place(window, 1, peer);
        move_packets(
            context, call, segment,
            [&](std::uint64_t index) {
              return read_packet<Context>(from, index - segment.first, whole);
            },
            [&](std::uint64_t index, const Packet& packet) {
              write_packet<Context>(call.receive, index, call.bytes, packet);
            });
      }
      post_all(window + 1, Channel::credit);
      return true;
    };
    COLLTUNE_NO_UNROLL
    for (std::uint64_t turn = 0; turn < windows + 2; ++turn) {
      if (turn < windows && !send_inputs(turn)) return;
      if (turn >= 1 && turn - 1 < windows && !reduce_segment(turn - 1)) return;
      if (turn >= 2 && !collect_results(turn - 2)) return;
    }
    // No barrier is needed: a rank that has all results knows that every rank has read its inputs,
    // and results of the next call reach only ranks that have begun it.
    team.finish(results_of(windows));
  }

 private:
  [[nodiscard]] static COLLTUNE_DEVICE std::uint64_t packets_of_window(
      const device::DeviceCall& call) {
    return static_cast<std::uint64_t>(call.ranks) * device::segment_bytes(call) /
           device::packet_bytes;
  }
  [[nodiscard]] static COLLTUNE_DEVICE std::uint64_t windows_of(const device::DeviceCall& call) {
    const std::uint64_t of_window = packets_of_window(call);
    return (device::packets_of(call.bytes) + of_window - 1) / of_window;
  }
};

DeviceAlgorithms make_all_reduce_pipeline() {
  return {make_device<AllReducePipeline>(
      {.name = "cuda.all_reduce_pipeline",
       .description =
           "shares to their reducers and results to all, chunk by chunk, three chunks at "
           "a time: 2(n-1)S/n bytes per rank (PyTorch, Triton-distributed)",
       .collective = Collective::all_reduce,
       .scratch_bytes =
           [](const device::DeviceCall& call) {
             return 2 * static_cast<std::uint64_t>(call.slots * call.ranks) *
                    device::segment_bytes(call);
           },
       .cost =
           [](const device::DeviceCall& call) {
             const double size = device::size_of_message(call);
             const double window = call.ranks * static_cast<double>(device::segment_bytes(call));
             return Cost{1 + (size > window ? size / window : 1),
                         2 * device::peers_of(call) * size / call.ranks, size};
           },
       .has_chunks = true,
       .does_shares = true,
       .uses_registered = false,
       .reaches_by_puts = true})};
}

}  // namespace colltune::cuda
