// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/model/speed_of_light/device.h"
#include "colltune/model/speed_of_light/strategy.h"

namespace colltune::speed_of_light {

/// The ranks of one communicator, on equally many devices of each of its nodes.
struct Communicator {
  int nodes = 1;
  int ranks = 1;
};

/// NCCL's ring, all-to-all or send-recv by XLA's SolGPUCostModel:
///   step     = transfer of one part by the NIC with 2.5 % of headers + preparing its chunks + rtt
///   ring     = launch + rounds (ranks - 1) / (ranks per node) steps; rounds: all_reduce 2, else 1
///   all2all  = launch + (ranks per node) (nodes - 1) steps
///   send_recv= as a ring of two whose part is the whole message
/// Throws Error(invalid_argument) where ranks do not divide over nodes, or the devices of a node
/// over the communicators, and where the NIC's bandwidth or the chunk is 0.
[[nodiscard]] Microseconds network_latency(EntryKind kind, Bytes message, const Communicator& world,
                                           const Device& device);

/// All_reduce of `ranks` devices of one node by a kernel of XLA. bw: bytes_per_us_to_peers.
///   one_shot = 1 us + (n - 1) S / bw + barrier
///   two_shot = 1 us + 2 ((n - 1) S / n / bw + barrier)
///   multimem = 1 us + 2 (S / bw + barrier)
/// XLA does not model multimem. This is an estimate of ours on the safe side: rank 0 alone reads S
/// reduced bytes and stores S bytes by the switch (all_reduce_kernel_lib.cu.h), at the speed of its
/// own links, and the two do not overlap. Throws Error(invalid_argument) for Strategy::standard and
/// where bytes_per_us_to_peers does.
[[nodiscard]] Microseconds kernel_latency(Strategy strategy, Bytes message, int ranks,
                                          const Device& device);

/// Bandwidth of NCCL's ring among the devices of one node, GB/s.
struct RingBandwidth {
  double bus = 0;        ///< of the links
  double algorithm = 0;  ///< message size over time
};
/// XLA's GpuPerformanceWithCollectiveModel: channels = min(links, max(n, 32)); bus = channels x
/// lane x 0.92 (ROCm 0.90), with CUDA at most channels x what LL128 gets (20 GB/s before Hopper,
/// 36.7 since). For ROCm no such bound is known.
[[nodiscard]] RingBandwidth ring_bandwidth(EntryKind kind, int ranks, const Device& device);

/// NCCL's ring among the devices of one node: 5 us of launch + S / algorithm bandwidth. XLA adds
/// the time to reduce, for which it has its own model of kernels: left out here. For all_reduce,
/// all_gather and reduce_scatter; others throw Error(invalid_argument).
[[nodiscard]] Microseconds ring_latency(EntryKind kind, Bytes message, int ranks,
                                        const Device& device);

/// Time to read and write `accessed` bytes of the device's memory. Throws Error(invalid_argument)
/// that names memory_gb_per_s where it is not known and `accessed` is not 0.
[[nodiscard]] Microseconds memory_time(Bytes accessed, const Device& device);

/// The message size at which one_shot and two_shot cost the same: barrier bw / ((n - 1)(1 - 2/n)).
/// Infinite for two ranks, where one_shot always wins.
[[nodiscard]] double crossover_bytes(int ranks, const Device& device);

}  // namespace colltune::speed_of_light
