// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace colltune {

/// What decides how a message is cut into partitions, in elements.
struct RingStaging {
  std::uint64_t total = 0;    ///< that the staging buffers hold: the largest partition
  std::uint64_t minimum = 0;  ///< 16 bytes for each rank: the smallest that stays aligned
};

/// The elements of the next partition, with `remaining` still to do: all of them where they fit. A
/// remainder that would leave less than the minimum for the last partition gives up as much as that
/// one needs. A remainder of exactly `total` is one partition: torchcomms once cut its last 16
/// bytes of each rank off, as a partition of their own (its change D93698089). 0 if nothing
/// remains. Throws Error(invalid_argument) unless total >= minimum > 0.
[[nodiscard]] std::uint64_t next_ring_partition(std::uint64_t remaining,
                                                const RingStaging& staging);

/// All partitions of `count` elements. Throws as next_ring_partition() does, and
/// Error(resource_exhausted) for more than a million of them.
[[nodiscard]] std::vector<std::uint64_t> ring_partitions(std::uint64_t count,
                                                         const RingStaging& staging);

}  // namespace colltune
