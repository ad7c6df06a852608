// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/speed_of_light/latency.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "colltune/vocabulary/error.h"
#include "refused.h"

namespace colltune::speed_of_light {
namespace {

// XLA's kHeaderOverhead, and what it takes to launch a kernel of its own or one of NCCL.
constexpr double with_headers = 1.025;
constexpr Microseconds kernel_launch{1.0};
constexpr Microseconds library_launch{5.0};
// NCCL's share of the links that a ring gets, and LL128's GB/s of each channel.
constexpr double cuda_ring_share = 0.92;
constexpr double rocm_ring_share = 0.90;
constexpr double old_low_latency_channel = 20;
constexpr double low_latency_channel = 36.7;
constexpr int hopper = 9;
constexpr int most_channels = 32;

void check(const Communicator& world, const Device& device) {
  if (world.nodes < 1 || world.ranks < 1)
    fail(fmt::format("a communicator of {} ranks on {} nodes; both must be positive", world.ranks,
                     world.nodes));
  if (world.ranks % world.nodes != 0)
    fail(
        fmt::format("{} ranks on {} nodes: each node must have as many", world.ranks, world.nodes));
  const int per_node = world.ranks / world.nodes;
  if (device.gpus_per_node % per_node != 0)
    fail(
        fmt::format("gpus_per_node is {}, which communicators of {} devices on each node do not "
                    "divide",
                    device.gpus_per_node, per_node));
}

Microseconds step_of(std::uint64_t part, const Device& device) {
  if (!(device.nic > 0)) fail(fmt::format("device: nic_gb_per_s is {}", device.nic));
  if (device.chunk.value == 0) fail("device: chunk_bytes is 0");
  const Microseconds transfer(static_cast<double>(part) / (device.nic * 1e3) * with_headers);
  const std::uint64_t chunks =
      part / device.chunk.value + (part % device.chunk.value != 0 ? 1 : 0);  // cannot wrap around
  return transfer + static_cast<double>(chunks) * device.chunk_prep + device.round_trip;
}

/// Steps of a ring, each of a part of 1/n of the message.
int ring_steps(EntryKind kind, int ranks) {
  switch (kind) {
    case EntryKind::all_reduce:
      return 2 * (ranks - 1);
    case EntryKind::all_gather:
    case EntryKind::reduce_scatter:
      return ranks - 1;
    case EntryKind::all_to_all:
    case EntryKind::send_recv:
      break;
  }
  fail(fmt::format("{} is no ring; rings are all_reduce, all_gather, reduce_scatter",
                   name_of(kind)));
}

}  // namespace

Microseconds network_latency(EntryKind kind, Bytes message, const Communicator& world,
                             const Device& device) {
  if (kind == EntryKind::send_recv) {
    const int per_node = std::max(1, 2 / std::max(world.nodes, 1));
    return device.launch + step_of(message.value, device) / per_node;
  }
  check(world, device);
  const int per_node = world.ranks / world.nodes;
  if (world.ranks == 1) return device.launch;
  const auto ranks = static_cast<std::uint64_t>(world.ranks);
  if (kind == EntryKind::all_to_all)
    return device.launch + static_cast<double>(per_node) * (world.nodes - 1) *
                               step_of(message.value / (ranks - 1), device);
  return device.launch + ring_steps(kind, world.ranks) * step_of(message.value / ranks, device) /
                             static_cast<double>(per_node);
}

Microseconds kernel_latency(Strategy strategy, Bytes message, int ranks, const Device& device) {
  const double bandwidth = bytes_per_us_to_peers(device);
  if (ranks < 1) fail(fmt::format("a kernel of {} ranks; at least 1", ranks));
  const Microseconds whole(static_cast<double>(message.value) / bandwidth);
  switch (strategy) {
    case Strategy::one_shot:
      return kernel_launch + (ranks - 1) * whole + device.barrier;
    case Strategy::two_shot:
      return kernel_launch + 2 * ((ranks - 1) * whole / ranks + device.barrier);
    case Strategy::multimem:
      return kernel_launch + 2 * (whole + device.barrier);
    case Strategy::standard:
      break;
  }
  fail("strategy 'default' is no kernel; kernels are one_shot, two_shot, multimem");
}

RingBandwidth ring_bandwidth(EntryKind kind, int ranks, const Device& device) {
  if (ranks < 2) fail(fmt::format("a ring of {} ranks; at least 2", ranks));
  static_cast<void>(bytes_per_us_to_peers(device));  // for its errors
  const int channels = std::min(device.links, std::max(ranks, most_channels));
  RingBandwidth bandwidth;
  if (device.platform == Platform::rocm) {
    bandwidth.bus = channels * device.lane * rocm_ring_share;
  } else {
    const double channel =
        device.generation >= hopper ? low_latency_channel : old_low_latency_channel;
    bandwidth.bus = std::min(channels * device.lane * cuda_ring_share, channels * channel);
  }
  bandwidth.algorithm = bandwidth.bus * ranks / ring_steps(kind, ranks);
  return bandwidth;
}

Microseconds ring_latency(EntryKind kind, Bytes message, int ranks, const Device& device) {
  const double per_us = ring_bandwidth(kind, ranks, device).algorithm * 1e3;
  return library_launch + Microseconds(static_cast<double>(message.value) / per_us);
}

Microseconds memory_time(Bytes accessed, const Device& device) {
  if (accessed.value == 0) return {};
  if (!(device.memory > 0))
    fail("device: memory_gb_per_s is not given, and is needed where bytes_accessed is");
  return Microseconds(static_cast<double>(accessed.value) / (device.memory * 1e3));
}

double crossover_bytes(int ranks, const Device& device) {
  if (ranks <= 2) return std::numeric_limits<double>::infinity();
  return device.barrier.count() * bytes_per_us_to_peers(device) /
         ((ranks - 1) * (1.0 - 2.0 / ranks));
}

}  // namespace colltune::speed_of_light
