// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/ring/ring_partitions.h"

#include <string>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

constexpr std::size_t most_partitions = 1'000'000;

}  // namespace

std::uint64_t next_ring_partition(std::uint64_t remaining, const RingStaging& staging) {
  if (staging.minimum == 0 || staging.total < staging.minimum)
    throw Error(StatusCode::invalid_argument,
                "staging buffers of " + std::to_string(staging.total) +
                    " elements, and partitions of at least " + std::to_string(staging.minimum) +
                    "; the buffers must hold one such partition of one element or more");
  if (remaining <= staging.total) return remaining;
  // Compared so that nothing overflows.
  if (remaining - staging.total < staging.minimum) return remaining - staging.minimum;
  return staging.total;
}

std::vector<std::uint64_t> ring_partitions(std::uint64_t count, const RingStaging& staging) {
  std::vector<std::uint64_t> partitions;
  while (count > 0) {
    if (partitions.size() == most_partitions)
      throw Error(StatusCode::resource_exhausted,
                  "more than a million partitions; the staging buffers hold only " +
                      std::to_string(staging.total) + " elements");
    partitions.push_back(next_ring_partition(count, staging));
    count -= partitions.back();
  }
  return partitions;
}

}  // namespace colltune
