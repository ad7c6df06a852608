// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <string_view>

#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/names.h"

namespace colltune::library_models {

/// The symmetric kernels of all_reduce that NCCL 2.30.7 has figures for, by NCCL's names. Its TMA
/// kernel has a name but no figures that are known here.
enum class SymmetricKernel { ag_ll = 0, ag_ll_mc = 1, ld_st = 2, ld_mc_st_mc = 3 };
constexpr std::array<Named<SymmetricKernel>, 4> enum_names(SymmetricKernel) {
  return {{{SymmetricKernel::ag_ll, "AGxLL_R"},
           {SymmetricKernel::ag_ll_mc, "AGxLLMC_R"},
           {SymmetricKernel::ld_st, "RSxLD_AGxST"},
           {SymmetricKernel::ld_mc_st_mc, "RSxLDMC_AGxSTMC"}}};
}
constexpr std::string_view enum_title(SymmetricKernel) { return "symmetric kernel"; }

/// What NCCL's model takes, and the time that it expects.
struct SymmetricPrediction {
  SymmetricKernel kernel = SymmetricKernel::ag_ll;
  int blocks = 0;
  std::chrono::duration<double, std::micro> time{};
};

/// NCCL 2.30.7's model (src/sym_kernels.cc) of an all_reduce in symmetric memory among the devices
/// of one node:
///   time = base + softplus(bus bytes / bandwidth - 1); bandwidth = softmin(blocks x a block's,
///   peak), where a block's is multiplied by what multicast is worth.
/// Each kernel takes the fewest blocks within 2.5 % of its best; the kernel with the least
/// time (1 + 0.025 blocks) is taken: multiprocessors have a price. Kernels of low latency take less
/// than 2 GiB on the bus; those of multicast (`has_multicast`: NVLS) more than 2 ranks.
/// `compute_capability` is 90 or more (Hopper below 100, Blackwell since): 90, 100, 103. Throws
/// Error(invalid_argument) for other devices and for less than 2 ranks.
[[nodiscard]] SymmetricPrediction predict_nccl_2_30_all_reduce(Bytes message, int ranks,
                                                               int compute_capability,
                                                               bool has_multicast);

}  // namespace colltune::library_models
