// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "colltune/nccl/choice.h"
#include "colltune/vocabulary/annotation/annotation.h"
#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/collective.h"

namespace colltune::library_models {

/// A collective of equally many ranks on each of its nodes.
struct ClassicCall {
  EntryKind kind = EntryKind::all_reduce;
  Bytes message;  ///< the larger of one rank's send and receive buffers
  int nodes = 1;
  int ranks = 2;
  int compute_capability = 90;  ///< the least of the ranks'
  DataType data_type = DataType::f32;
  ReduceOp reduce_op = ReduceOp::sum;  ///< where the collective reduces
};

struct ClassicPrediction {
  nccl::Algorithm algorithm = nccl::Algorithm::ring;
  nccl::Protocol protocol = nccl::Protocol::simple;
  Microseconds time{};
};

/// Throws Error(invalid_argument) that names the field ("ring.channels"): channels that are not
/// 1 to 64, bandwidths that are not positive, a negative latency, CollNet's heads that are less
/// than 1 or without a graph of CollNet.
void check(const NcclTopology& topology);

/// The times that NCCL 2.30.7's tables give to each algorithm and protocol that it would consider
/// for `call`, in its order (src/graph/tuning.cc). With n ranks on N nodes, S bytes:
///   time = latency + S / bandwidth
///   bandwidth: channels x a channel's, bounded by what the protocol and the architecture reach,
///   and by how often the algorithm sends each byte (ring n / 2(n - 1), tree 1 / 2, …)
///   latency: a base for each algorithm and protocol, and one for each step (ring: 2(n - 1) of an
///   all_reduce, else n - 1; tree: 2(n / N - 1 + log2 N); PAT: log2 N / 3.5, and 2.8 us for each
///   rank; NVLSTree: 1 in the node and 2 log2 N between; CollNet: 1 between)
/// Trees have a correction by size, since Blackwell on x86 NVLSTree too; a ring's Simple across
/// nodes has a higher latency once each channel sends 64 bytes for each rank. For one call alone:
/// groups of calls save latency. The times hold for a communicator whose NcclTopology this is, with
/// NCCL's variables at their defaults, and for CollNet for what its plug-in reduces.
///
/// What is considered: Tree of an all_reduce. NVLS of one node, of several with CollNet. NVLSTree
/// of an all_reduce across nodes. PAT of the others with one rank on each node. CollNetDirect and,
/// of an all_reduce, CollNetChain across nodes of at most 8 ranks. With CollNetDirect and NVLS an
/// all_gather and a reduce_scatter across nodes take a head for each rank of a node.
///
/// `topology` must have passed check(). Throws Error(failed_precondition) for collectives other
/// than all_reduce, all_gather and reduce_scatter, and Error(invalid_argument) for less than 2
/// ranks, and where the topology lacks what several nodes need (nccl.cpu; inter_gb_per_s of NVLS
/// and, where the collective is no all_reduce, of CollNetDirect; beyond two nodes of ring and
/// tree).
[[nodiscard]] std::vector<ClassicPrediction> nccl_2_30_classic_times(const ClassicCall& call,
                                                                     const NcclTopology& topology);

/// The one that NCCL takes: the least time, of equal ones the first. A ring of more than 8 ranks
/// that reduces f8 is taken only if nothing else is there.
[[nodiscard]] ClassicPrediction least_time(const ClassicCall& call,
                                           const std::vector<ClassicPrediction>& times);

}  // namespace colltune::library_models
