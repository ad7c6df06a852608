// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/library/nccl_classic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "colltune/vocabulary/error.h"
#include "nccl_classic_goldens.h"
#include "nccl_network_goldens.h"

namespace colltune::library_models {
namespace {

using ::testing::HasSubstr;

/// A communicator and what NCCL found out about it.
struct World {
  ClassicCall call;
  NcclTopology topology;
};

NcclGraph graph(int channels, double intra, double inter) {
  return {.channels = channels, .intra_gb_per_s = intra, .inter_gb_per_s = inter};
}

const std::map<std::string, World>& worlds() {
  static const std::map<std::string, World> all{
      {"hopper",
       {{.nodes = 1, .ranks = 8, .compute_capability = 90},
        {.ring = graph(24, 20, 20), .tree = graph(24, 20, 20), .nvls = graph(16, 24, 24)}}},
      {"ampere",
       {{.nodes = 1, .ranks = 8, .compute_capability = 80},
        {.ring = graph(12, 20, 20), .tree = graph(12, 20, 20)}}},
      {"blackwell",
       {{.nodes = 1, .ranks = 8, .compute_capability = 100},
        {.ring = graph(24, 30, 30), .tree = graph(24, 30, 30), .nvls = graph(24, 30, 30)}}},
      {"pci",
       {{.nodes = 1, .ranks = 4, .compute_capability = 80},
        {.ring = graph(2, 10, 10), .tree = graph(2, 10, 10), .pci = true}}},
      {"two",
       {{.nodes = 2, .ranks = 16, .compute_capability = 90},
        {.ring = graph(16, 20, 24), .tree = graph(16, 20, 24), .cpu = HostCpu::intel}}},
      {"four",
       {{.nodes = 4, .ranks = 32, .compute_capability = 90},
        {.ring = graph(16, 24, 24),
         .tree = graph(16, 24, 24),
         .cpu = HostCpu::amd,
         .plain_tree = true,
         .network_latency_us = 1.5}}},
      {"thin",
       {{.nodes = 4, .ranks = 4, .compute_capability = 90},
        {.ring = graph(4, 24, 24), .tree = graph(4, 24, 24), .cpu = HostCpu::intel}}},
      {"volta",
       {{.nodes = 2, .ranks = 16, .compute_capability = 70},
        {.ring = graph(12, 21, 12), .tree = graph(12, 21, 12), .cpu = HostCpu::mixed}}},
      {"rails",
       {{.nodes = 4, .ranks = 32, .compute_capability = 90},
        {.ring = graph(16, 24, 24),
         .tree = graph(16, 24, 24),
         .nvls = graph(16, 24, 24),
         .cpu = HostCpu::intel,
         .collnet_direct = graph(16, 24, 24),
         .collnet_chain = graph(16, 20, 24),
         .collnet_heads = 8}}},
      {"pair",
       {{.nodes = 2, .ranks = 16, .compute_capability = 100},
        {.ring = graph(24, 30, 24),
         .tree = graph(24, 30, 24),
         .nvls = graph(24, 30, 24),
         .cpu = HostCpu::amd}}},
      {"grace",
       {{.nodes = 4, .ranks = 16, .compute_capability = 100},
        {.ring = graph(24, 30, 24),
         .tree = graph(24, 30, 24),
         .nvls = graph(24, 30, 24),
         .cpu = HostCpu::other}}},
      {"sharp",
       {{.nodes = 8, .ranks = 64, .compute_capability = 80},
        {.ring = graph(12, 20, 12),
         .tree = graph(12, 20, 12),
         .cpu = HostCpu::amd,
         .plain_tree = true,
         .network_latency_us = 1.5,
         .collnet_direct = graph(8, 20, 24),
         .collnet_chain = graph(12, 20, 24)}}},
      {"heads",
       {{.nodes = 2, .ranks = 8, .compute_capability = 90},
        {.ring = graph(16, 24, 24),
         .tree = graph(16, 24, 24),
         .nvls = graph(8, 40, 24),
         .cpu = HostCpu::mixed,
         .network_latency_us = 0.5,
         .collnet_direct = graph(8, 40, 24),
         .collnet_heads = 4}}},
      {"few",
       {{.nodes = 3, .ranks = 12, .compute_capability = 90},
        {.ring = graph(8, 24, 12),
         .tree = graph(8, 24, 12),
         .nvls = graph(8, 24, 12),
         .cpu = HostCpu::intel,
         .collnet_direct = graph(8, 24, 12),
         .collnet_chain = graph(8, 24, 12),
         .collnet_heads = 2}}},
      {"slim",
       {{.nodes = 6, .ranks = 6, .compute_capability = 80},
        {.ring = graph(4, 20, 12),
         .tree = graph(4, 20, 12),
         .cpu = HostCpu::amd,
         .network_latency_us = 1.5,
         .collnet_direct = graph(4, 20, 12),
         .collnet_chain = graph(4, 20, 12),
         .collnet_heads = 1}}},
  };
  return all;
}

/// The times of every algorithm and protocol, by "ring.ll".
std::map<std::string, double> times_of(const World& world, EntryKind kind, std::uint64_t bytes) {
  ClassicCall call = world.call;
  call.kind = kind;
  call.message = Bytes{bytes};
  std::map<std::string, double> times;
  for (const ClassicPrediction& one : nccl_2_30_classic_times(call, world.topology))
    times[std::string(name_of(one.algorithm)) + "." + std::string(name_of(one.protocol))] =
        one.time.count();
  return times;
}

TEST(NcclClassic, TimesAreThoseOfNccl) {
  for (const ClassicGolden& golden : classic_goldens()) {
    const auto found = times_of(worlds().at(golden.world), golden.kind, golden.bytes);
    EXPECT_EQ(found.size(), golden.times.size()) << golden.world << ' ' << golden.bytes;
    for (const auto& [name, time] : golden.times) {
      ASSERT_TRUE(found.contains(name)) << golden.world << ' ' << name;
      EXPECT_NEAR(found.at(name), time, 2e-5 * time)
          << golden.world << ' ' << name_of(golden.kind) << ' ' << golden.bytes << ' ' << name;
    }
  }
}

TEST(NcclClassic, AlgorithmsOfTheNetworkTakeTheTimesOfNccl) {
  std::istringstream goldens{std::string(network_goldens)};
  std::map<std::string, int> times_of_algorithm;
  for (std::string line; std::getline(goldens, line);) {
    if (line.empty()) continue;
    std::istringstream fields(line);
    std::string world;
    std::string kind;
    std::uint64_t bytes = 0;
    fields >> world >> kind >> bytes;
    ASSERT_TRUE(worlds().contains(world)) << line;
    const auto found = times_of(worlds().at(world), parse_name<EntryKind>(kind), bytes);
    std::size_t expected = 0;
    std::string name;
    for (double time = 0; fields >> name >> time; ++expected) {
      ASSERT_TRUE(found.contains(name)) << name << " of " << line;
      EXPECT_NEAR(found.at(name), time, 2e-5 * time) << name << " of " << line;
      ++times_of_algorithm[name.substr(0, name.find('.'))];
    }
    EXPECT_EQ(found.size(), expected) << line;
  }
  for (const auto& algorithm : enum_names(nccl::Algorithm{}))
    EXPECT_GT(times_of_algorithm[std::string(algorithm.name)], 0) << algorithm.name;
}

TEST(NcclClassic, TheLeastTimeIsTaken) {
  const auto taken = [](const std::string& world, std::uint64_t bytes) {
    ClassicCall call = worlds().at(world).call;
    call.message = Bytes{bytes};
    const ClassicPrediction least =
        least_time(call, nccl_2_30_classic_times(call, worlds().at(world).topology));
    return std::string(name_of(least.algorithm)) + "." + std::string(name_of(least.protocol));
  };
  EXPECT_EQ(taken("ampere", 1 << 10), "ring.ll");
  EXPECT_EQ(taken("four", 1 << 10), "tree.ll");
  EXPECT_EQ(taken("ampere", 1 << 30), "ring.simple");
}

TEST(NcclClassic, EightBitsAreReducedByARingOfManyOnlyWithoutATree) {
  World world = worlds().at("two");
  world.call.message = Bytes{1 << 30};
  const auto taken = [&] {
    return least_time(world.call, nccl_2_30_classic_times(world.call, world.topology)).algorithm;
  };
  const nccl::Algorithm of_floats = taken();
  EXPECT_EQ(of_floats, nccl::Algorithm::ring);
  world.call.data_type = DataType::f8e4m3;
  EXPECT_EQ(taken(), nccl::Algorithm::tree);
  world.topology.tree.reset();
  EXPECT_EQ(taken(), nccl::Algorithm::ring);
}

TEST(NcclClassic, NvlsTakesSumsAndWhatMulticastCompares) {
  const auto has_nvls = [](EntryKind kind, DataType type, ReduceOp op) {
    ClassicCall call = worlds().at("hopper").call;
    call.kind = kind;
    call.data_type = type;
    call.reduce_op = op;
    return std::ranges::any_of(
        nccl_2_30_classic_times(call, worlds().at("hopper").topology),
        [](const ClassicPrediction& one) { return one.algorithm == nccl::Algorithm::nvls; });
  };
  EXPECT_TRUE(has_nvls(EntryKind::all_reduce, DataType::f32, ReduceOp::sum));
  EXPECT_TRUE(has_nvls(EntryKind::all_reduce, DataType::bf16, ReduceOp::max));
  EXPECT_TRUE(has_nvls(EntryKind::all_reduce, DataType::i64, ReduceOp::min));
  EXPECT_TRUE(has_nvls(EntryKind::reduce_scatter, DataType::f64, ReduceOp::sum));
  EXPECT_FALSE(has_nvls(EntryKind::all_reduce, DataType::f16, ReduceOp::avg));
  EXPECT_FALSE(has_nvls(EntryKind::all_reduce, DataType::u32, ReduceOp::prod));
  EXPECT_FALSE(has_nvls(EntryKind::all_reduce, DataType::i8, ReduceOp::sum));
  EXPECT_FALSE(has_nvls(EntryKind::all_reduce, DataType::f32, ReduceOp::max));
  EXPECT_FALSE(has_nvls(EntryKind::all_reduce, DataType::f32, ReduceOp::avg));
  EXPECT_FALSE(has_nvls(EntryKind::all_reduce, DataType::f8e4m3, ReduceOp::sum));
  EXPECT_TRUE(has_nvls(EntryKind::all_gather, DataType::f8e4m3, ReduceOp::none));
}

TEST(NcclClassic, WhatIsMissingOrNotModelledIsAnError) {
  const auto refusal = [](const ClassicCall& call, const NcclTopology& topology) -> std::string {
    try {
      check(topology);
      static_cast<void>(nccl_2_30_classic_times(call, topology));
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  const NcclTopology sound = worlds().at("four").topology;
  const ClassicCall call = worlds().at("four").call;
  EXPECT_EQ(refusal(call, sound), "nothing was thrown");
  NcclTopology spoilt = sound;
  spoilt.cpu.reset();
  EXPECT_THAT(refusal(call, spoilt), HasSubstr("allowed are intel, amd, mixed, other"));
  spoilt = sound;
  spoilt.tree->inter_gb_per_s.reset();
  EXPECT_THAT(refusal(call, spoilt), HasSubstr("nccl.tree.inter_gb_per_s is missing"));
  spoilt = sound;
  spoilt.nvls = NcclGraph{.channels = 16, .intra_gb_per_s = 24};
  EXPECT_THAT(refusal(call, spoilt),
              HasSubstr("nccl.nvls.inter_gb_per_s is missing, for 2 nodes or more"));
  spoilt = sound;
  spoilt.collnet_heads = 8;
  EXPECT_THAT(refusal(call, spoilt), HasSubstr("collnet_heads without collnet_direct"));
  spoilt.collnet_direct = NcclGraph{.channels = 16, .intra_gb_per_s = 24};
  EXPECT_EQ(refusal(call, spoilt), "nothing was thrown");
  ClassicCall gather = call;
  gather.kind = EntryKind::all_gather;
  EXPECT_THAT(refusal(gather, spoilt), HasSubstr("nccl.collnet_direct.inter_gb_per_s is missing"));
  spoilt.collnet_heads = 0;
  EXPECT_THAT(refusal(call, spoilt), HasSubstr("collnet_heads is 0"));
  spoilt = sound;
  spoilt.ring.intra_gb_per_s = 0;
  EXPECT_THAT(refusal(call, spoilt), HasSubstr("ring.intra_gb_per_s is 0"));
  spoilt = sound;
  spoilt.network_latency_us = -1;
  EXPECT_THAT(refusal(call, spoilt), HasSubstr("network_latency_us is -1"));
  ClassicCall other = call;
  other.kind = EntryKind::all_to_all;
  EXPECT_THAT(refusal(other, sound), HasSubstr("have no all_to_all"));
  other = call;
  other.ranks = 1;
  other.nodes = 1;
  EXPECT_THAT(refusal(other, sound), HasSubstr("1 ranks; at least 2"));
}

TEST(NcclClassic, WhatTheNetworkTakesIsLeftOutWhereNcclLeavesItOut) {
  const auto has = [](const ClassicCall& call, const NcclTopology& topology,
                      nccl::Algorithm algorithm) {
    return std::ranges::any_of(
        nccl_2_30_classic_times(call, topology),
        [&](const ClassicPrediction& one) { return one.algorithm == algorithm; });
  };
  const NcclTopology& rails = worlds().at("rails").topology;
  ClassicCall call = worlds().at("rails").call;
  EXPECT_TRUE(has(call, rails, nccl::Algorithm::collnet_direct));
  // CollNet starts with two nodes and ends with 8 ranks on each.
  call.nodes = 1;
  EXPECT_FALSE(has(call, rails, nccl::Algorithm::collnet_direct));
  EXPECT_FALSE(has(call, rails, nccl::Algorithm::nvls_tree));
  EXPECT_TRUE(has(call, rails, nccl::Algorithm::nvls));
  call.nodes = 2;
  EXPECT_FALSE(has(call, rails, nccl::Algorithm::collnet_direct));
  EXPECT_FALSE(has(call, rails, nccl::Algorithm::collnet_chain));
  EXPECT_TRUE(has(call, rails, nccl::Algorithm::nvls));
  // PAT: one rank on each node, no average.
  ClassicCall scatter = worlds().at("slim").call;
  scatter.kind = EntryKind::reduce_scatter;
  const NcclTopology& slim = worlds().at("slim").topology;
  EXPECT_TRUE(has(scatter, slim, nccl::Algorithm::pat));
  scatter.reduce_op = ReduceOp::avg;
  EXPECT_FALSE(has(scatter, slim, nccl::Algorithm::pat));
  scatter.kind = EntryKind::all_gather;
  EXPECT_TRUE(has(scatter, slim, nccl::Algorithm::pat));
  scatter.ranks = 12;
  EXPECT_FALSE(has(scatter, slim, nccl::Algorithm::pat));
}

}  // namespace
}  // namespace colltune::library_models
