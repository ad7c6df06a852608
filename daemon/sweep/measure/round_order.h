// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace colltune {

/// The next number of SplitMix64 (Steele, Lea and Flood, 2014). Unlike std::shuffle it is the same
/// on every platform.
inline std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// The order in which `n` rivals run in a round: a permutation that depends on seed and round
/// alone.
inline std::vector<std::size_t> round_order(std::size_t n, std::uint64_t seed, int round) {
  std::uint64_t state = seed + 0x632be59bd9b4e019u * static_cast<std::uint64_t>(round + 1);
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[next_random(state) % i]);
  return order;
}

/// Which of a batch's runs is checked: drawn evenly, and depending on seed, round and rival alone.
inline int choose_run(int runs, std::uint64_t seed, int round, std::size_t rival) {
  std::uint64_t state = seed + 0xd1342543de82ef95u * static_cast<std::uint64_t>(round + 1) + rival;
  return static_cast<int>(next_random(state) % static_cast<std::uint64_t>(runs));
}

}  // namespace colltune
