// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/library/nccl_symmetric.h"

#include <gtest/gtest.h>

#include "colltune/vocabulary/error.h"

namespace colltune::library_models {
namespace {

struct Golden {
  std::uint64_t bytes;
  bool has_multicast;
  SymmetricKernel kernel;
  int blocks;
  double time;
};

// Computed from NCCL 2.30.7's formulas for 8 Hopper devices; known to three digits.
TEST(NcclSymmetric, GoldensOfHopper) {
  using enum SymmetricKernel;
  for (const Golden& golden :
       {Golden{1 << 10, true, ag_ll_mc, 2, 4.97}, Golden{8 << 10, true, ag_ll_mc, 5, 5.73},
        Golden{16 << 10, true, ag_ll_mc, 6, 7.13}, Golden{32 << 10, true, ld_mc_st_mc, 1, 8.13},
        Golden{1 << 20, true, ld_mc_st_mc, 1, 9.45}, Golden{16 << 20, true, ld_mc_st_mc, 2, 43.4},
        Golden{256 << 20, true, ld_mc_st_mc, 2, 593}, Golden{16 << 10, false, ag_ll, 7, 7.09},
        Golden{32 << 10, false, ld_st, 2, 8.24}, Golden{1 << 20, false, ld_st, 7, 12.3},
        Golden{16 << 20, false, ld_st, 7, 94.3}, Golden{256 << 20, false, ld_st, 7, 1407}}) {
    const SymmetricPrediction found =
        predict_nccl_2_30_all_reduce(Bytes{golden.bytes}, 8, 90, golden.has_multicast);
    EXPECT_EQ(found.kernel, golden.kernel) << golden.bytes;
    EXPECT_EQ(found.blocks, golden.blocks) << golden.bytes;
    EXPECT_NEAR(found.time.count(), golden.time, 0.002 * golden.time) << golden.bytes;
  }
}

TEST(NcclSymmetric, TwoRanksHaveNoMulticast) {
  for (std::uint64_t bytes = 1024; bytes <= (1u << 30); bytes *= 2)
    EXPECT_EQ(predict_nccl_2_30_all_reduce(Bytes{bytes}, 2, 90, true).kernel,
              predict_nccl_2_30_all_reduce(Bytes{bytes}, 2, 90, false).kernel);
}

TEST(NcclSymmetric, TheLargestSizesHaveATime) {
  const SymmetricPrediction found =
      predict_nccl_2_30_all_reduce(Bytes{(std::uint64_t{1} << 63) - 1}, 8, 100, true);
  EXPECT_GT(found.time.count(), 1e9);
  EXPECT_NE(found.kernel, SymmetricKernel::ag_ll);
}

TEST(NcclSymmetric, WhatIsNotKnownIsAnError) {
  EXPECT_THROW(static_cast<void>(predict_nccl_2_30_all_reduce(Bytes{1}, 1, 90, true)), Error);
  EXPECT_THROW(static_cast<void>(predict_nccl_2_30_all_reduce(Bytes{1}, 8, 80, true)), Error);
}

}  // namespace
}  // namespace colltune::library_models
