// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/library/nccl_symmetric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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
  for (const Golden& golden :
       {Golden{1 << 10, true, ar_ag_ll_mc, 2, 4.97}, Golden{8 << 10, true, ar_ag_ll_mc, 5, 5.73},
        Golden{16 << 10, true, ar_ag_ll_mc, 6, 7.13},
        Golden{32 << 10, true, ar_ld_mc_st_mc, 1, 8.13},
        Golden{1 << 20, true, ar_ld_mc_st_mc, 1, 9.45},
        Golden{16 << 20, true, ar_ld_mc_st_mc, 2, 43.4},
        Golden{256 << 20, true, ar_ld_mc_st_mc, 2, 593}, Golden{16 << 10, false, ar_ag_ll, 7, 7.09},
        Golden{32 << 10, false, ar_ld_st, 2, 8.24}, Golden{1 << 20, false, ar_ld_st, 7, 12.3},
        Golden{16 << 20, false, ar_ld_st, 7, 94.3}, Golden{256 << 20, false, ar_ld_st, 7, 1407}}) {
    const SymmetricPrediction found = predict_nccl_2_30_symmetric(
        {.message = Bytes{golden.bytes}, .ranks = 8, .has_multicast = golden.has_multicast});
    EXPECT_EQ(found.kernel, golden.kernel) << golden.bytes;
    EXPECT_EQ(found.blocks, golden.blocks) << golden.bytes;
    EXPECT_NEAR(found.time.count(), golden.time, 0.002 * golden.time) << golden.bytes;
  }
}

struct SymmetricGolden {
  int compute_capability;
  int ranks;
  bool has_multicast;
  EntryKind kind;
  std::uint64_t bytes;
  SymmetricKernel kernel;
  int blocks;
  double time;
};

// What NCCL 2.30.7 itself says: its src/sym_kernels.cc compiled into a program that asks it for
// each kernel (queryModel_lsa) and takes the one of the least price, as ncclSymkPickKernel does.
TEST(NcclSymmetric, ChoicesAreThoseOfNccl) {
  using enum SymmetricKernel;
  using enum EntryKind;
  const std::vector<SymmetricGolden> goldens{
      {90, 4, false, all_reduce, 1024, ar_ag_ll, 2, 4.89341},
      {90, 4, false, all_reduce, 65536, ar_ld_st, 2, 8.36318},
      {90, 4, false, all_reduce, 1048576, ar_ld_st, 6, 11.6863},
      {90, 4, false, all_reduce, 268435456, ar_ld_st, 7, 1207.27},
      {90, 4, false, all_reduce, 4294967296, ar_ld_st, 7, 19214.3},
      {90, 4, true, all_reduce, 1024, ar_ag_ll_mc, 2, 4.88573},
      {90, 4, true, all_reduce, 65536, ar_ld_mc_st_mc, 1, 8.20181},
      {90, 4, true, all_reduce, 1048576, ar_ld_mc_st_mc, 2, 9.66871},
      {90, 4, true, all_reduce, 268435456, ar_ld_mc_st_mc, 3, 658.711},
      {90, 4, true, all_reduce, 4294967296, ar_ld_mc_st_mc, 3, 10437.4},
      {90, 8, false, all_reduce, 1024, ar_ag_ll, 2, 4.98955},
      {90, 8, false, all_reduce, 65536, ar_ld_st, 2, 8.41668},
      {90, 8, false, all_reduce, 1048576, ar_ld_st, 7, 12.2822},
      {90, 8, false, all_reduce, 268435456, ar_ld_st, 7, 1407.34},
      {90, 8, false, all_reduce, 4294967296, ar_ld_st, 7, 22415.5},
      {90, 8, false, all_gather, 1024, ag_ll, 1, 4.86965},
      {90, 8, false, all_gather, 65536, ag_ll, 8, 5.68143},
      {90, 8, false, all_gather, 1048576, ag_st, 8, 9.77295},
      {90, 8, false, all_gather, 268435456, ag_st, 9, 706.117},
      {90, 8, false, all_gather, 4294967296, ag_st, 9, 11195.9},
      {90, 8, false, reduce_scatter, 1024, rs_ll, 1, 4.86965},
      {90, 8, false, reduce_scatter, 65536, rs_ll, 8, 5.68143},
      {90, 8, false, reduce_scatter, 1048576, rs_ld, 8, 9.77295},
      {90, 8, false, reduce_scatter, 268435456, rs_ld, 9, 706.117},
      {90, 8, false, reduce_scatter, 4294967296, rs_ld, 9, 11195.9},
      {90, 8, true, all_reduce, 1024, ar_ag_ll_mc, 2, 4.9714},
      {90, 8, true, all_reduce, 65536, ar_ld_mc_st_mc, 1, 8.15645},
      {90, 8, true, all_reduce, 1048576, ar_ld_mc_st_mc, 1, 9.44534},
      {90, 8, true, all_reduce, 268435456, ar_ld_mc_st_mc, 2, 592.752},
      {90, 8, true, all_reduce, 4294967296, ar_ld_mc_st_mc, 2, 9382.03},
      {90, 8, true, all_gather, 1024, ag_ll_mc, 1, 4.8642},
      {90, 8, true, all_gather, 65536, ag_ll_mc, 7, 5.70157},
      {90, 8, true, all_gather, 1048576, ag_st_mc, 2, 9.70545},
      {90, 8, true, all_gather, 268435456, ag_st_mc, 2, 709.364},
      {90, 8, true, all_gather, 4294967296, ag_st_mc, 2, 11247.8},
      {90, 8, true, reduce_scatter, 1024, rs_ll, 1, 4.86965},
      {90, 8, true, reduce_scatter, 65536, rs_ll, 8, 5.68143},
      {90, 8, true, reduce_scatter, 1048576, rs_ld_mc, 2, 9.70545},
      {90, 8, true, reduce_scatter, 268435456, rs_ld_mc, 2, 709.364},
      {90, 8, true, reduce_scatter, 4294967296, rs_ld_mc, 2, 11247.8},
      {100, 4, false, all_reduce, 1024, ar_ag_ll, 1, 11.5228},
      {100, 4, false, all_reduce, 65536, ar_ag_ll, 11, 13.9475},
      {100, 4, false, all_reduce, 1048576, ar_ld_st, 9, 21.6317},
      {100, 4, false, all_reduce, 268435456, ar_ld_st, 13, 650.247},
      {100, 4, false, all_reduce, 4294967296, ar_ld_st, 13, 10126.5},
      {100, 4, true, all_reduce, 1024, ar_ag_ll_mc, 1, 11.5001},
      {100, 4, true, all_reduce, 65536, ar_ag_ll_mc, 10, 13.9475},
      {100, 4, true, all_reduce, 1048576, ar_ld_mc_st_mc, 3, 20.7058},
      {100, 4, true, all_reduce, 268435456, ar_ld_mc_st_mc, 5, 333.607},
      {100, 4, true, all_reduce, 4294967296, ar_ld_mc_st_mc, 5, 5060.21},
      {100, 8, false, all_reduce, 1024, ar_ag_ll, 2, 11.5228},
      {100, 8, false, all_reduce, 65536, ar_ld_st, 2, 20.1788},
      {100, 8, false, all_reduce, 1048576, ar_ld_st, 10, 21.8196},
      {100, 8, false, all_reduce, 268435456, ar_ld_st, 13, 755.539},
      {100, 8, false, all_reduce, 4294967296, ar_ld_st, 13, 11811.1},
      {100, 8, false, all_gather, 1024, ag_ll, 1, 8.85768},
      {100, 8, false, all_gather, 65536, ag_ll, 8, 9.32976},
      {100, 8, false, all_gather, 1048576, ag_st, 9, 14.139},
      {100, 8, false, all_gather, 268435456, ag_st, 13, 380.519},
      {100, 8, false, all_gather, 4294967296, ag_st, 13, 5908.31},
      {100, 8, false, reduce_scatter, 1024, rs_ll, 1, 11.3577},
      {100, 8, false, reduce_scatter, 65536, rs_ll, 7, 11.9316},
      {100, 8, false, reduce_scatter, 1048576, rs_ld, 9, 14.139},
      {100, 8, false, reduce_scatter, 268435456, rs_ld, 13, 380.519},
      {100, 8, false, reduce_scatter, 4294967296, rs_ld, 13, 5908.31},
      {100, 8, true, all_reduce, 1024, ar_ag_ll_mc, 2, 11.5001},
      {100, 8, true, all_reduce, 65536, ar_ld_mc_st_mc, 1, 19.8577},
      {100, 8, true, all_reduce, 1048576, ar_ld_mc_st_mc, 2, 20.3298},
      {100, 8, true, all_reduce, 268435456, ar_ld_mc_st_mc, 3, 299.796},
      {100, 8, true, all_reduce, 4294967296, ar_ld_mc_st_mc, 3, 4519.23},
      {100, 8, true, all_gather, 1024, ag_ll_mc, 1, 8.85344},
      {100, 8, true, all_gather, 65536, ag_ll_mc, 7, 9.35653},
      {100, 8, true, all_gather, 1048576, ag_st_mc, 2, 14.1634},
      {100, 8, true, all_gather, 268435456, ag_st_mc, 3, 379.833},
      {100, 8, true, all_gather, 4294967296, ag_st_mc, 3, 5897.33},
      {100, 8, true, reduce_scatter, 1024, rs_ll, 1, 11.3577},
      {100, 8, true, reduce_scatter, 65536, rs_ld_mc, 1, 13.3776},
      {100, 8, true, reduce_scatter, 1048576, rs_ld_mc, 2, 14.1634},
      {100, 8, true, reduce_scatter, 268435456, rs_ld_mc, 3, 379.833},
      {100, 8, true, reduce_scatter, 4294967296, rs_ld_mc, 3, 5897.33},
  };
  for (const SymmetricGolden& golden : goldens) {
    const SymmetricPrediction found =
        predict_nccl_2_30_symmetric({.kind = golden.kind,
                                     .message = Bytes{golden.bytes},
                                     .ranks = golden.ranks,
                                     .compute_capability = golden.compute_capability,
                                     .has_multicast = golden.has_multicast});
    const std::string where =
        std::to_string(golden.compute_capability) + " " + std::to_string(golden.ranks) + " " +
        std::string(name_of(golden.kind)) + " " + std::to_string(golden.bytes);
    EXPECT_EQ(found.kernel, golden.kernel) << where;
    EXPECT_EQ(found.blocks, golden.blocks) << where;
    EXPECT_NEAR(found.time.count(), golden.time, 1e-5 * golden.time) << where;
  }
}

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
  SymmetricCall call{
      .message = Bytes{1 << 20}, .ranks = 8, .has_multicast = true, .data_type = DataType::f8e4m3};
  EXPECT_EQ(predict_nccl_2_30_symmetric(call).kernel, SymmetricKernel::ar_ld_st);
  call.compute_capability = 100;
  EXPECT_EQ(predict_nccl_2_30_symmetric(call).kernel, SymmetricKernel::ar_ld_mc_st_mc);
}

TEST(NcclSymmetric, TmaIsTakenSinceBlackwellWhereItIsSwitchedOn) {
  using enum SymmetricKernel;
  SymmetricCall call{.message = Bytes{64 << 20}, .ranks = 8, .compute_capability = 100};
  const SymmetricPrediction without = predict_nccl_2_30_symmetric(call);
  EXPECT_EQ(without.kernel, ar_ld_st);
  call.may_use_tma = true;
  const SymmetricPrediction with = predict_nccl_2_30_symmetric(call);
  EXPECT_EQ(with.kernel, ar_tma_ld_st);
  EXPECT_EQ(with.time, without.time);
  EXPECT_EQ(with.blocks, without.blocks);
  call.kind = EntryKind::all_gather;
  EXPECT_EQ(predict_nccl_2_30_symmetric(call).kernel, ag_tma_st);
  call.kind = EntryKind::reduce_scatter;
  EXPECT_EQ(predict_nccl_2_30_symmetric(call).kernel, rs_tma_ld);
  call.has_multicast = true;
  EXPECT_EQ(predict_nccl_2_30_symmetric(call).kernel, rs_ld_mc);
  call.kind = EntryKind::all_gather;
  EXPECT_EQ(predict_nccl_2_30_symmetric(call).kernel, ag_tma_st_mc);
  call.compute_capability = 90;
  EXPECT_EQ(predict_nccl_2_30_symmetric(call).kernel, ag_st_mc);
}

struct RailGolden {
  int compute_capability;
  int nodes;
  int ranks_per_node;
  double network_gb_per_s;
  bool has_multicast;
  EntryKind kind;
  std::uint64_t part;
  SymmetricKernel kernel;
  int blocks;
  double time;
};

// What NCCL 2.30.7 itself says, as above (queryModel_gin); of the ring, whose time it has in
// seconds, a million times as much.
TEST(NcclSymmetric, ChoicesAcrossNodesAreThoseOfNccl) {
  using enum SymmetricKernel;
  using enum EntryKind;
  const std::vector<RailGolden> goldens{
      {90, 2, 1, 50, false, reduce_scatter, 1024, rs_rail_ld, 1, 14.16997},
      {90, 2, 1, 50, false, reduce_scatter, 1048576, rs_rail_ld, 8, 55.94304},
      {90, 2, 2, 50, false, reduce_scatter, 100000, rs_rail_ld, 1, 53.05191},
      {90, 2, 2, 50, false, reduce_scatter, 1048576, rs_rail_ld, 8, 88.63344},
      {90, 2, 2, 50, false, reduce_scatter, 41943040, rs_rail_ld, 19, 916.5035},
      {90, 2, 8, 50, false, reduce_scatter, 1048576, rs_rail_ld, 8, 238.3936},
      {90, 4, 1, 50, false, reduce_scatter, 1024, rs_rail_ld, 1, 14.36042},
      {90, 4, 1, 50, false, reduce_scatter, 1048576, rs_rail_ld, 5, 116.2362},
      {90, 4, 2, 25, false, reduce_scatter, 1024, rs_rail_ld, 1, 14.95645},
      {90, 4, 2, 25, false, reduce_scatter, 100000, rs_rail_ld, 1, 107.4031},
      {90, 4, 2, 25, false, reduce_scatter, 1048576, rs_rail_ld, 7, 260.1241},
      {90, 4, 2, 50, false, reduce_scatter, 1048576, rs_rail_ld, 8, 193.8057},
      {90, 4, 8, 25, true, reduce_scatter, 1024, rs_rail_ld_mc, 1, 15.91248},
      {90, 4, 8, 25, false, reduce_scatter, 1048576, rs_rail_ld, 8, 556.2405},
      {90, 4, 8, 50, false, reduce_scatter, 100000, rs_rail_ld, 1, 283.2522},
      {90, 4, 8, 50, false, reduce_scatter, 1048576, rs_rail_ld, 8, 493.326},
      {90, 4, 8, 50, true, reduce_scatter, 1048576, rs_rail_ld_mc, 8, 387.5393},
      {90, 4, 8, 50, false, reduce_scatter, 41943040, rs_rail_ld, 33, 3872.177},
      {90, 4, 8, 50, true, reduce_scatter, 41943040, rs_rail_ld_mc, 19, 4113.058},
      {90, 16, 2, 50, false, reduce_scatter, 100000, rs_rail_ld, 1, 391.5101},
      {90, 16, 8, 50, true, all_gather, 1024, ag_rail_ring_st_mc, 1, 210.3641},
      {100, 2, 1, 50, false, reduce_scatter, 100000, rs_rail_ld, 1, 23.5188},
      {100, 2, 2, 50, false, reduce_scatter, 1048576, rs_rail_ld, 8, 62.52182},
      {100, 2, 8, 50, false, reduce_scatter, 41943040, rs_rail_ld, 32, 1018.303},
      {100, 2, 8, 50, true, all_gather, 41943040, ag_rail_ring_st_mc, 4, 1492.068},
      {100, 4, 2, 25, false, reduce_scatter, 1024, rs_rail_ld, 1, 14.55203},
      {100, 4, 2, 25, false, reduce_scatter, 1048576, rs_rail_ld, 4, 205.6564},
      {100, 4, 2, 50, false, reduce_scatter, 1024, rs_rail_ld, 1, 14.49059},
      {100, 4, 2, 50, false, reduce_scatter, 1048576, rs_rail_ld, 7, 137.062},
      {100, 4, 2, 50, false, reduce_scatter, 41943040, rs_rail_ld, 7, 2590.73},
      {100, 4, 8, 25, true, reduce_scatter, 100000, rs_rail_ld_mc, 1, 113.3828},
      {100, 4, 8, 25, false, reduce_scatter, 1048576, rs_rail_ld, 8, 353.0702},
      {100, 4, 8, 25, true, reduce_scatter, 41943040, rs_rail_ld_mc, 7, 5198.043},
      {100, 4, 8, 50, true, all_gather, 1048576, ag_rail_ring_st_mc, 1, 104.9146},
      {100, 4, 8, 50, true, reduce_scatter, 41943040, rs_rail_ld_mc, 14, 2722.239},
      {100, 16, 1, 50, false, reduce_scatter, 100000, rs_rail_ld, 1, 104.1504},
      {100, 16, 2, 50, false, reduce_scatter, 100000, rs_rail_ld, 1, 222.914},
      {100, 16, 2, 50, false, reduce_scatter, 41943040, rs_rail_ld, 6, 12850.32},
      {100, 16, 8, 50, true, all_gather, 100000, ag_rail_ring_st_mc, 1, 240},
      {100, 16, 8, 50, true, all_gather, 1048576, ag_rail_ring_st_mc, 1, 524.5728},
  };
  for (const RailGolden& golden : goldens) {
    const int ranks = golden.nodes * golden.ranks_per_node;
    const SymmetricPrediction found = predict_nccl_2_30_symmetric(
        {.kind = golden.kind,
         .message = Bytes{golden.part * static_cast<std::uint64_t>(ranks)},
         .ranks = ranks,
         .nodes = golden.nodes,
         .network_gb_per_s = golden.network_gb_per_s,
         .compute_capability = golden.compute_capability,
         .has_multicast = golden.has_multicast});
    const std::string what = std::to_string(golden.compute_capability) + ", " +
                             std::to_string(golden.nodes) + " nodes of " +
                             std::to_string(golden.ranks_per_node) + ", " +
                             std::to_string(golden.part) + " B";
    EXPECT_EQ(found.kernel, golden.kernel) << what;
    EXPECT_EQ(found.blocks, golden.blocks) << what;
    // NCCL sums in single precision.
    EXPECT_NEAR(found.time.count(), golden.time, 1e-5 * golden.time) << what;
  }
}

TEST(NcclSymmetric, TheLargestSizesHaveATime) {
  const std::uint64_t limit = std::uint64_t{64} << 30U;
  SymmetricCall call{
      .message = Bytes{limit - 1}, .ranks = 8, .compute_capability = 100, .has_multicast = true};
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
  EXPECT_THAT(refusal({.ranks = 9, .nodes = 2, .network_gb_per_s = 50}),
              HasSubstr("9 ranks on 2 nodes"));
  EXPECT_THAT(refusal({.ranks = 8, .nodes = 0}), HasSubstr("8 ranks on 0 nodes"));
  EXPECT_THAT(refusal({.kind = EntryKind::all_gather, .ranks = 8, .nodes = 2}),
              HasSubstr("a network of 0 GB/s"));
  EXPECT_THAT(refusal({.ranks = 8, .nodes = 2, .network_gb_per_s = 50}),
              HasSubstr("of all_reduce across nodes"));
  EXPECT_THAT(
      refusal({.kind = EntryKind::all_gather, .ranks = 8, .nodes = 2, .network_gb_per_s = 50}),
      HasSubstr("of all_gather across nodes without multicast"));
  EXPECT_EQ(refusal({.kind = EntryKind::all_gather, .data_type = DataType::i64}),
            "nothing was thrown");
}

}  // namespace
}  // namespace colltune::library_models
