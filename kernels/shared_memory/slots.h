// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace colltune {

// Slots of symmetric memory, which messages take turns in. With four nobody waits for who still
// reads the message before.
inline constexpr std::int64_t usual_slots = 4;
inline constexpr std::int64_t most_slots = 64;

/// The numbers of slots of `bytes` each that a sweep tries: the usual one, and as many (a power
/// of two) as fill a usual L2 cache, where those are more. What is written anew should have left
/// the caches of those who read the place before: writing to lines that another core still holds
/// takes longer (tests/bench/results/kernels.md). Shorter messages leave no cache within the most slots.
[[nodiscard]] inline std::vector<std::int64_t> tried_slots(std::uint64_t bytes) {
  constexpr std::uint64_t cache = 1 << 20;
  constexpr std::uint64_t shortest = 2 << 10;
  std::vector<std::int64_t> all{usual_slots};
  if (bytes < shortest) return all;
  const auto filling =
      std::min(static_cast<std::int64_t>(std::bit_floor(cache / bytes)), most_slots);
  if (filling > usual_slots) all.push_back(filling);
  return all;
}

}  // namespace colltune
