// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/library/nccl_symmetric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "colltune/vocabulary/error.h"

namespace colltune::library_models {
namespace {

using ::testing::HasSubstr;

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
  for (const Golden& golden : {Golden{1 << 10, true, ar_ag_ll_mc, 2, 4.97},
                               Golden{8 << 10, true, ar_ag_ll_mc, 5, 5.73},
                               Golden{16 << 10, true, ar_ag_ll_mc, 6, 7.13},
                               Golden{32 << 10, true, ar_ld_mc_st_mc, 1, 8.13},
                               Golden{1 << 20, true, ar_ld_mc_st_mc, 1, 9.45},
                               Golden{16 << 20, true, ar_ld_mc_st_mc, 2, 43.4},
                               Golden{256 << 20, true, ar_ld_mc_st_mc, 2, 593},
                               Golden{16 << 10, false, ar_ag_ll, 7, 7.09},
                               Golden{32 << 10, false, ar_ld_st, 2, 8.24},
                               Golden{1 << 20, false, ar_ld_st, 7, 12.3},
                               Golden{16 << 20, false, ar_ld_st, 7, 94.3},
                               Golden{256 << 20, false, ar_ld_st, 7, 1407}}) {
    const SymmetricPrediction found = predict_nccl_2_30_symmetric(
        {.message = Bytes{golden.bytes}, .ranks = 8, .has_multicast = golden.has_multicast});
    EXPECT_EQ(found.kernel, golden.kernel) << golden.bytes;
    EXPECT_EQ(found.blocks, golden.blocks) << golden.bytes;
    EXPECT_NEAR(found.time.count(), golden.time, 0.002 * golden.time) << golden.bytes;
  }
}

GOLDENS_OF_THE_OTHERS

TEST(NcclSymmetric, TwoRanksHaveNoMulticast) {
  for (const EntryKind kind :
       {EntryKind::all_reduce, EntryKind::all_gather, EntryKind::reduce_scatter})
    for (std::uint64_t bytes = 1024; bytes <= (1u << 30); bytes *= 2) {
      SymmetricCall call{.kind = kind, .message = Bytes{bytes}, .ranks = 2, .has_multicast = true};
      const SymmetricKernel with = predict_nccl_2_30_symmetric(call).kernel;
      call.has_multicast = false;
      EXPECT_EQ(predict_nccl_2_30_symmetric(call).kernel, with);
    }
}

TEST(NcclSymmetric, EightBitsAreReducedByMulticastSinceBlackwell) {
  SymmetricCall call{.message = Bytes{1 << 20},
                     .ranks = 8,
                     .has_multicast = true,
                     .data_type = DataType::f8e4m3};
  EXPECT_EQ(predict_nccl_2_30_symmetric(call).kernel, SymmetricKernel::ar_ld_st);
  call.compute_capability = 100;
  EXPECT_EQ(predict_nccl_2_30_symmetric(call).kernel, SymmetricKernel::ar_ld_mc_st_mc);
}

TEST(NcclSymmetric, TheLargestSizesHaveATime) {
  const std::uint64_t limit = std::uint64_t{64} << 30U;
  SymmetricCall call{.message = Bytes{limit - 1},
                     .ranks = 8,
                     .compute_capability = 100,
                     .has_multicast = true};
  const SymmetricPrediction found = predict_nccl_2_30_symmetric(call);
  EXPECT_GT(found.time.count(), 5e4);
  EXPECT_NE(found.kernel, SymmetricKernel::ar_ag_ll);
  call.message = Bytes{limit};
  EXPECT_THROW(static_cast<void>(predict_nccl_2_30_symmetric(call)), Error);
}

TEST(NcclSymmetric, WhatIsNotKnownIsAnError) {
  const auto refusal = [](const SymmetricCall& call) -> std::string {
    try {
      static_cast<void>(predict_nccl_2_30_symmetric(call));
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(refusal({.ranks = 1}), HasSubstr("1 ranks; at least 2"));
  EXPECT_THAT(refusal({.compute_capability = 80}), HasSubstr("compute capability 80"));
  EXPECT_THAT(refusal({.data_type = DataType::f64}), HasSubstr("for sum of f64"));
  EXPECT_THAT(refusal({.data_type = DataType::i32}), HasSubstr("for sum of i32"));
  EXPECT_THAT(refusal({.reduce_op = ReduceOp::max}), HasSubstr("for max of f32"));
  EXPECT_THAT(refusal({.kind = EntryKind::all_to_all}), HasSubstr("of all_to_all"));
  EXPECT_EQ(refusal({.kind = EntryKind::all_gather, .data_type = DataType::i64}),
            "nothing was thrown");
}

}  // namespace
}  // namespace colltune::library_models
