// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "colltune/vocabulary/annotation/annotation.h"
#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/collective.h"
#include "colltune/vocabulary/names.h"

namespace colltune::library_models {

/// The symmetric kernels, by NCCL's names and in its order. Those that copy by TMA are off unless a
/// variable switches them on. The three along rails cross nodes, and all others do not.
enum class SymmetricKernel {
  ar_ag_ll = 0,
  ar_ag_ll_mc = 1,
  ar_tma_ld_st = 2,
  ar_ld_st = 3,
  ar_ld_mc_st_mc = 4,
  ag_ll = 5,
  ag_ll_mc = 6,
  ag_tma_st = 7,
  ag_st = 8,
  ag_tma_st_mc = 9,
  ag_st_mc = 10,
  ag_rail_ring_st_mc = 11,
  rs_ll = 12,
  rs_tma_ld = 13,
  rs_ld = 14,
  rs_ld_mc = 15,
  rs_rail_ld = 16,
  rs_rail_ld_mc = 17,
};
constexpr std::array<Named<SymmetricKernel>, 18> enum_names(SymmetricKernel) {
  return {{{SymmetricKernel::ar_ag_ll, "AllReduce_AGxLL_R"},
           {SymmetricKernel::ar_ag_ll_mc, "AllReduce_AGxLLMC_R"},
           {SymmetricKernel::ar_tma_ld_st, "AllReduce_RSxTmaLD_AGxTmaST"},
           {SymmetricKernel::ar_ld_st, "AllReduce_RSxLD_AGxST"},
           {SymmetricKernel::ar_ld_mc_st_mc, "AllReduce_RSxLDMC_AGxSTMC"},
           {SymmetricKernel::ag_ll, "AllGather_LL"},
           {SymmetricKernel::ag_ll_mc, "AllGather_LLMC"},
           {SymmetricKernel::ag_tma_st, "AllGather_TmaST"},
           {SymmetricKernel::ag_st, "AllGather_ST"},
           {SymmetricKernel::ag_tma_st_mc, "AllGather_TmaSTMC"},
           {SymmetricKernel::ag_st_mc, "AllGather_STMC"},
           {SymmetricKernel::ag_rail_ring_st_mc, "AllGather_RailRing_LsaSTMC"},
           {SymmetricKernel::rs_ll, "ReduceScatter_LL"},
           {SymmetricKernel::rs_tma_ld, "ReduceScatter_TmaLD"},
           {SymmetricKernel::rs_ld, "ReduceScatter_LD"},
           {SymmetricKernel::rs_ld_mc, "ReduceScatter_LDMC"},
           {SymmetricKernel::rs_rail_ld, "ReduceScatter_RailA2A_LsaLD"},
           {SymmetricKernel::rs_rail_ld_mc, "ReduceScatter_RailA2A_LsaLDMC"}}};
}
constexpr std::string_view enum_title(SymmetricKernel) { return "symmetric kernel"; }

/// A collective in symmetric memory, all buffers in registered windows, among devices that reach
/// each other by NVLink within a node, and as many on each node.
struct SymmetricCall {
  EntryKind kind = EntryKind::all_reduce;
  Bytes message;  ///< the larger of one rank's send and receive buffers
  int ranks = 2;
  int nodes = 1;
  /// 10^9 bytes/s of the slowest network device that a rank uses; needed across nodes.
  double network_gb_per_s = 0;
  int compute_capability = 90;  ///< 90, 100, 103
  bool has_multicast = false;   ///< NVLS
  bool may_use_tma = false;     ///< NCCL_SYM_TMA_ENABLE; before capability 100 it has no effect
  DataType data_type = DataType::f32;
  ReduceOp reduce_op = ReduceOp::sum;  ///< where the collective reduces
};

/// What NCCL's model takes, and the time that it expects.
struct SymmetricPrediction {
  SymmetricKernel kernel = SymmetricKernel::ar_ag_ll;
  int blocks = 0;
  Microseconds time{};
};

/// NCCL 2.30.7's model (src/sym_kernels.cc) of an all_reduce, all_gather or reduce_scatter:
///   time = base + softplus(bus bytes / bandwidth - 1); bandwidth = softmin(blocks x a block's,
///   peak), where a block's is multiplied by what multicast is worth.
/// Each kernel takes the fewest blocks within 2.5 % of its best; the kernel with the least
/// time (1 + 0.025 blocks) is taken: multiprocessors have a price. Kernels of low latency take less
/// than 2 GiB; those of multicast more than 2 ranks, and to reduce by it f8 needs capability 100.
/// The model has no term of TMA: of two kernels with one time, one of which copies by TMA, NCCL
/// takes that one, which comes first.
///
/// Across nodes each device exchanges with those of its place on the other nodes (its rail), N in
/// all, by the network, and with the R of its node by NVLink; P bytes are one rank's part:
///   all_gather, a ring: latency x (N - 1) x P / 1 MiB + max(N R P / NVLink, (N - 1) P / network)
///   reduce_scatter, all to all: P / bandwidth + first chunks / NVLink and network + latency; the
///   bandwidth is the least of NVLink's, the network's and the blocks', each by how often it
///   carries a byte; no more blocks than that are taken.
/// NCCL has the first in seconds and compares it as microseconds. No other kernel competes with it,
/// so that changes no choice; the time here is in microseconds. The heads of multicast are taken to
/// be a node's ranks.
///
/// Throws Error(invalid_argument) for less than 2 ranks, ranks that are not as many on each node,
/// capabilities below 90 and, across nodes, a network of no bandwidth; Error(failed_precondition)
/// that says why for what NCCL has no symmetric kernel of: other collectives, all_reduce across
/// nodes, all_gather across nodes without multicast, reductions that are no sum or average of
/// floating point numbers up to 32 bits, 64 GiB or more.
[[nodiscard]] SymmetricPrediction predict_nccl_2_30_symmetric(const SymmetricCall& call);

}  // namespace colltune::library_models
