// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/ring/ring_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t mib = 1 << 20;

TEST(RingRules, HaveNames) {
  EXPECT_EQ(parse_name<RingRules>("v1"), RingRules::v1);
  EXPECT_EQ(parse_name<RingRules>("v2"), RingRules::v2);
  EXPECT_EQ(parse_name<RingRules>("v3"), RingRules::v3);
  EXPECT_THROW((void)parse_name<RingRules>("v4"), Error);
  EXPECT_EQ(default_ring_rules, RingRules::v3);
}

TEST(RingRules, NearestPowerOfTwo) {
  const std::pair<std::uint64_t, std::uint64_t> goldens[] = {{0, 1},
                                                             {1, 1},
                                                             {2, 2},
                                                             {3, 4},
                                                             {5, 4},
                                                             {6, 8},
                                                             {7, 8},
                                                             {48, 64},
                                                             {80, 64},
                                                             {96, 128},
                                                             {3 * mib / 2, 2 * mib},
                                                             {3 * mib / 2 - 1, mib},
                                                             {12 * mib - 1, 8 * mib},
                                                             {12 * mib, 16 * mib}};
  for (const auto& [number, nearest] : goldens)
    EXPECT_EQ(nearest_power_of_two(number), nearest) << number;
  const std::uint64_t top = std::uint64_t{1} << 63;
  EXPECT_EQ(nearest_power_of_two(top), top);
  EXPECT_EQ(nearest_power_of_two(top + top / 2 - 1), top);
  EXPECT_THROW((void)nearest_power_of_two(top + top / 2), Error);
  EXPECT_THROW((void)nearest_power_of_two(std::numeric_limits<std::uint64_t>::max()), Error);
}

TEST(RingRules, TheArchitectureIsHopperBelowComputeCapabilityTen) {
  for (const char* const name : {"sm_70", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_99"})
    EXPECT_EQ(ring_architecture_of(name), RingArchitecture::hopper) << name;
  for (const char* const name : {"sm_100", "sm_100a", "sm_103f", "sm_120"})
    EXPECT_EQ(ring_architecture_of(name), RingArchitecture::default_values) << name;
}

TEST(RingRules, AnUnknownArchitectureIsAnError) {
  for (const char* const name : {"", "sm_", "sm_9", "sm_x", "sm_090", "sm_-90", "sm_90b", "sm_90aa",
                                 "SM_90", "gfx950", "x86_64-avx2", "hopper", "sm_99999999999"}) {
    try {
      (void)ring_architecture_of(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::invalid_argument);
      EXPECT_THAT(error.what(), HasSubstr("'" + std::string(name) + "'"));
      EXPECT_THAT(error.what(), HasSubstr("sm_90"));
    }
  }
}

}  // namespace
}  // namespace colltune
