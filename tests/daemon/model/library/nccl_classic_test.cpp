// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/library/nccl_classic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "colltune/vocabulary/error.h"
#include "nccl_classic_goldens.h"

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
  };
  return all;
}

/// The times of every algorithm and protocol, by "Ring.LL".
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

TEST(NcclClassic, TheLeastTimeIsTaken) {
  const auto taken = [](const std::string& world, std::uint64_t bytes) {
    ClassicCall call = worlds().at(world).call;
    call.message = Bytes{bytes};
    const ClassicPrediction least =
        least_time(call, nccl_2_30_classic_times(call, worlds().at(world).topology));
    return std::string(name_of(least.algorithm)) + "." + std::string(name_of(least.protocol));
  };
  EXPECT_EQ(taken("ampere", 1 << 10), "Ring.LL");
  EXPECT_EQ(taken("four", 1 << 10), "Tree.LL");
  EXPECT_EQ(taken("ampere", 1 << 30), "Ring.Simple");
}

TEST(NcclClassic, EightBitsAreReducedByARingOfManyOnlyWithoutATree) {
  World world = worlds().at("two");
  world.call.message = Bytes{1 << 30};
  const auto taken = [&] {
    return least_time(world.call, nccl_2_30_classic_times(world.call, world.topology)).algorithm;
  };
  const ClassicAlgorithm of_floats = taken();
  EXPECT_EQ(of_floats, ClassicAlgorithm::ring);
  world.call.data_type = DataType::f8e4m3;
  EXPECT_EQ(taken(), ClassicAlgorithm::tree);
  world.topology.tree.reset();
  EXPECT_EQ(taken(), ClassicAlgorithm::ring);
}

TEST(NcclClassic, NvlsTakesSumsAndWhatMulticastCompares) {
  const auto has_nvls = [](EntryKind kind, DataType type, ReduceOp op) {
    ClassicCall call = worlds().at("hopper").call;
    call.kind = kind;
    call.data_type = type;
    call.reduce_op = op;
    return std::ranges::any_of(
        nccl_2_30_classic_times(call, worlds().at("hopper").topology),
        [](const ClassicPrediction& one) { return one.algorithm == ClassicAlgorithm::nvls; });
  };
  EXPECT_TRUE(has_nvls(EntryKind::all_reduce, DataType::f32, ReduceOp::sum));
  EXPECT_TRUE(has_nvls(EntryKind::all_reduce, DataType::bf16, ReduceOp::max));
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

}  // namespace
}  // namespace colltune::library_models
