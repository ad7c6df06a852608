// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "colltune/kernels/communicator.h"
#include "colltune/vocabulary/problem.h"

namespace colltune::test {

/// A call whose inputs are random numbers, so that each rounding shows in the bits of the result,
/// and the order of them too.
struct RandomCall {
  Problem problem;  ///< of f64, f32, f16 or bf16
  int ranks = 1;
  std::uint64_t seed = 0;
};

/// What `rank` sends.
void fill_random(const RandomCall& call, int rank, std::span<std::byte> send);

/// How this rank's result breaks the promise; empty where it does not. Of all_reduce, all_gather
/// and broadcast all ranks must hold the same bits; where rank order is promised, a reduction must
/// give those of one call of reduce_in_rank_order. Collective.
[[nodiscard]] std::string find_broken_promise(Communicator& communicator, const RandomCall& call,
                                              NumericClass promised,
                                              std::span<const std::byte> received);

}  // namespace colltune::test
