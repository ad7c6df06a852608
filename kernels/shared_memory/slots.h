// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace colltune {

// Slots of symmetric memory, which messages use in turn. With four slots no rank waits for a peer
// that still reads the message before.
inline constexpr std::int64_t usual_slots = 4;
inline constexpr std::int64_t most_slots = 64;

/// The numbers of slots of `bytes` each that a sweep tries: the usual one, and the power of two
/// that fills a usual L2 cache, if that is more. Before a slot is rewritten, its lines should have
/// left the caches of the ranks that read it: writing to lines that another core still holds takes
/// longer (tests/bench/results/kernels.md). Messages below `shortest` cannot fill enough of a cache
/// even with `most_slots`.
[[nodiscard]] inline std::vector<std::int64_t> tried_slots(std::uint64_t bytes,
                                                           std::uint64_t shortest = 2 << 10) {
  constexpr std::uint64_t cache = 1 << 20;
  std::vector<std::int64_t> all{usual_slots};
  if (bytes < shortest) return all;
  const auto filling =
      std::min(static_cast<std::int64_t>(std::bit_floor(cache / bytes)), most_slots);
  if (filling > usual_slots) all.push_back(filling);
  return all;
}

}  // namespace colltune
