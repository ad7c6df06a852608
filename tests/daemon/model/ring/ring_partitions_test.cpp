// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/ring/ring_partitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Elements of 4 bytes, 8 ranks.
constexpr RingStaging staging{.total = 4'194'304, .minimum = 32};

TEST(RingPartitions, ARemainderOfJustTheBuffersHasNoTail) {
  EXPECT_THAT(ring_partitions(4'194'303, staging), ElementsAre(4'194'303));
  EXPECT_THAT(ring_partitions(4'194'304, staging), ElementsAre(4'194'304));
  EXPECT_THAT(ring_partitions(4'194'305, staging), ElementsAre(4'194'273, 32));
  EXPECT_THAT(ring_partitions(4'194'336, staging), ElementsAre(4'194'304, 32));
  EXPECT_THAT(ring_partitions(8'388'608, staging), ElementsAre(4'194'304, 4'194'304));
}

TEST(RingPartitions, SmallMessagesAreOnePartition) {
  EXPECT_THAT(ring_partitions(0, staging), IsEmpty());
  EXPECT_THAT(ring_partitions(1, staging), ElementsAre(1));
  EXPECT_EQ(next_ring_partition(0, staging), 0U);
}

TEST(RingPartitions, AreWholeAndNoneButAWholeMessageIsBelowTheMinimum) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const RingStaging one{.total = 32 + random() % 4096, .minimum = 1 + random() % 32};
    const std::uint64_t count = random() % (one.total * 8);
    std::uint64_t sum = 0;
    const std::vector<std::uint64_t> partitions = ring_partitions(count, one);
    for (const std::uint64_t partition : partitions) {
      ASSERT_LE(partition, one.total);
      if (partitions.size() > 1) {
        // The one before the last gives up to the last one what that needs, and may fall below it
        // where the buffers hold fewer than two minima.
        ASSERT_GE(partition, std::min(one.minimum, one.total - one.minimum + 1));
      }
      sum += partition;
    }
    ASSERT_EQ(sum, count);
  }
}

TEST(RingPartitions, BuffersThatHoldNoPartitionAreRefused) {
  EXPECT_THROW((void)next_ring_partition(1, {.total = 31, .minimum = 32}), Error);
  EXPECT_THROW((void)next_ring_partition(1, {.total = 0, .minimum = 0}), Error);
  EXPECT_THROW((void)ring_partitions(std::numeric_limits<std::uint64_t>::max(), staging), Error);
  const RingStaging whole{.total = std::numeric_limits<std::uint64_t>::max(), .minimum = 1};
  EXPECT_EQ(next_ring_partition(whole.total, whole), whole.total);
}

}  // namespace
}  // namespace colltune
