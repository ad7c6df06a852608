// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/machine/hardware_topology.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>

namespace colltune {
namespace {

cpu_set_t threads(std::initializer_list<int> numbers) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int number : numbers) CPU_SET(number, &set);
  return set;
}

/// What hwloc makes of a description instead of this machine.
class OfDescription {
 public:
  explicit OfDescription(const char* description) { ::setenv("HWLOC_SYNTHETIC", description, 1); }
  OfDescription(const OfDescription&) = delete;
  OfDescription& operator=(const OfDescription&) = delete;
  ~OfDescription() { ::unsetenv("HWLOC_SYNTHETIC"); }
};

// Two sockets with a NUMA node each, two level 3 caches each, two cores under each, two threads.
constexpr const char* two_sockets = "package:2 numa:1 l3:2(size=32MiB) l2:2(size=1MiB) core:1 pu:2";

TEST(HardwareTopology, ARankIsInAPlaceThatHasAllItsThreads) {
  const OfDescription description(two_sockets);
  const HardwareTopology topology;
  EXPECT_EQ(topology.numa_of(threads({0, 7})), 0);
  EXPECT_EQ(topology.numa_of(threads({8})), 1);
  EXPECT_EQ(topology.numa_of(threads({7, 8})), -1);
  EXPECT_EQ(topology.cache_of(threads({4, 5, 6, 7})), 1);
  EXPECT_EQ(topology.cache_of(threads({0, 7})), -1);
  EXPECT_EQ(topology.numa_of(threads({})), -1);
}

TEST(HardwareTopology, TellsWhatTheMachineHas) {
  const OfDescription description(two_sockets);
  const auto features = HardwareTopology().features();
  EXPECT_EQ(features.at("machine.packages"), "2");
  EXPECT_EQ(features.at("machine.numa_nodes"), "2");
  EXPECT_EQ(features.at("machine.l3_caches"), "4");
  EXPECT_EQ(features.at("machine.cores"), "8");
  EXPECT_EQ(features.at("machine.l2_bytes"), std::to_string(1 << 20));
}

TEST(HardwareTopology, WithoutASharedCacheNobodyIsNear) {
  const OfDescription description("package:1 core:4 pu:1");
  const HardwareTopology topology;
  EXPECT_EQ(topology.cache_of(threads({0})), -1);
  EXPECT_FALSE(topology.features().contains("machine.l3_bytes"));
}

}  // namespace
}  // namespace colltune
