// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "colltune/model/library/nccl_classic.h"

// The figures of NCCL 2.30.7's classic tables, src/graph/tuning.cc. Its GB are 10^9 bytes.

namespace colltune::library_models::classic {

/// One figure for each protocol.
using Row = std::array<double, 3>;
/// One row for each algorithm. A 0 is never looked at: but for Tree and Ring there is only Simple.
using Rows = std::array<Row, 7>;

inline constexpr Rows base_us{
    {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {}, {}, {}, {}, {8.0, 8.0, 8.0}}};
inline constexpr Rows nvlink_us{{{0.6, 1.25, 4.0},
                                 {0.6, 1.9, 3.4},
                                 {0, 0, 3.7},
                                 {0, 0, 2.8},
                                 {0, 0, 25},
                                 {0, 0, 25},
                                 {0, 0, 4.0}}};
inline constexpr Rows pci_us{
    {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {}, {}, {0, 0, 4.0}}};
inline constexpr Rows network_us{{{5.0, 8.5, 14},
                                  {2.7, 4.0, 14.0},
                                  {0, 0, 31},
                                  {0, 0, 30},
                                  {0, 0, 18},
                                  {0, 0, 20.9},
                                  {0, 0, 14}}};

/// For one node, two, and more.
using ByNodes = std::array<double, 3>;

[[nodiscard]] inline double at(const ByNodes& row, int nodes) {
  return row.at(static_cast<std::size_t>(std::min(nodes, 3) - 1));
}

/// GB/s that an architecture reaches. `ll` is of all channels, the others of each one.
struct ClassicFigures {
  int least_capability;
  double ll;  ///< on one node
  double ring_ll128;
  ByNodes tree_ll128;
  ByNodes tree;
  ByNodes nvls_tree;
  double nvls_share;  ///< of the channels' bandwidth; 0: it has no NVLS
};
inline constexpr int first_blackwell = 100;
inline constexpr int first_hopper = 90;
inline constexpr int first_ampere = 80;
inline constexpr std::array<ClassicFigures, 4> architectures{{
    {first_blackwell, 282.0, 40.0, {55.6, 31.67, 20.0}, {70.0, 42.8, 24.0}, {0, 96.0, 80.0}, 0.74},
    {first_hopper, 141.0, 36.7, {36.7, 36.7, 29.0}, {38.7, 41.4, 36.0}, {0, 57.7, 45.5}, 0.85},
    {first_ampere, 87.7, 20.0, {20.0, 20.0, 20.0}, {24.0, 23.6, 17.8}, {}, 0},
    {0, 39.0, 20.0, {20.0, 20.0, 20.0}, {26.5, 18.5, 10.0}, {}, 0},
}};
// LL across nodes, by the processors: the first is never looked at.
inline constexpr ByNodes ll_of_amd{0, 22.5, 19.0};
inline constexpr ByNodes ll_of_others{0, 39.0, 20.4};

// What trees reach of their bandwidth, by the power of two of the size from 64 bytes on.
inline constexpr std::size_t corrected_sizes = 23;
inline constexpr std::array<std::array<double, corrected_sizes>, 3> tree_shares{{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
}};
// The row of Simple has one size more where the NVLS tree is corrected by it.
inline constexpr std::size_t corrected_sizes_of_nvls_tree = corrected_sizes + 1;
inline constexpr double last_share_of_nvls_tree = .9;

inline constexpr double ring_ll_share = 0.5;
inline constexpr double payload_of_ll128 = 0.92;  // NCCL's figure for 120 of 128 bytes
inline constexpr double tree_share = 0.92;
inline constexpr double tree_ll_share = 1 / 3.8;
inline constexpr double tree_ll128_share_of_one_node = 7.0 / 9.0;
inline constexpr double tree_ll128_share = 120.0 / 128.0;
inline constexpr double plain_tree_share = 0.85;
inline constexpr double pat_share = 0.75;
inline constexpr double collnet_direct_share = 0.85;  // of an all_reduce, since Hopper
inline constexpr double collnet_network_share = 0.9;  // of an all_gather or reduce_scatter
inline constexpr double collnet_us_of_each_peer = 0.4;
inline constexpr double pat_steps_at_once = 3.5;
inline constexpr double pat_us_of_each_rank = 2.8;
inline constexpr int most_channels = 64;
inline constexpr int first_ll128 = 70;
inline constexpr int first_pat = 60;
inline constexpr int most_ranks_of_nvls = 32;    // of a node: all_gather and reduce_scatter
inline constexpr int most_ranks_of_collnet = 8;  // of a node
inline constexpr int fewest_channels_of_nvls = 2;
inline constexpr int most_ranks_of_f8_ring = 8;
inline constexpr std::uint64_t plateau_bytes = 64;
inline constexpr double plateau = 1.4;
inline constexpr double plateau_before_ampere = 1.9;

}  // namespace colltune::library_models::classic
