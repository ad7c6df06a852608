// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/model/fitted/world_fits.h"
#include "literals.h"

namespace colltune::planted_worlds {

/// All-reduces by known steps, over links of one kind.
struct PlantedAlgorithm {
  std::string_view name;
  StepCount (*count)(int ranks, double size);
  bool is_baseline = false;
};

inline StepCount tree(int ranks, double size) {
  const double steps = 2 * std::ceil(std::log2(ranks));
  return {.steps = steps, .bytes_per_rank = steps * size};
}
inline StepCount one_shot(int ranks, double size) {
  return {.steps = 1, .bytes_per_rank = (ranks - 1) * size};
}
inline StepCount doubling(int ranks, double size) {
  const double steps = std::ceil(std::log2(ranks));
  return {.steps = steps, .bytes_per_rank = steps * size};
}
inline StepCount ring(int ranks, double size) {
  const double steps = 2.0 * (ranks - 1);
  return {.steps = steps, .bytes_per_rank = steps / ranks * size};
}
inline constexpr std::array<PlantedAlgorithm, 4> algorithms{
    {{"base", tree, true}, {"one_shot", one_shot}, {"doubling", doubling}, {"ring", ring}}};

/// Of a call, in ns.
inline double time_of(std::string_view name, int ranks, double size) {
  constexpr StepFit links{.overhead = 300, .per_step = 700, .per_byte = 0.12};
  for (const PlantedAlgorithm& one : algorithms)
    if (one.name == name) return links.at(one.count(ranks, size));
  return 0;
}

inline double least_time(int ranks, double size) {
  double least = time_of("base", ranks, size);
  for (const PlantedAlgorithm& one : algorithms)
    least = std::min(least, time_of(one.name, ranks, size));
  return least;
}

inline std::optional<StepCount> counts(const TuningKey& key, const RankedVariant& ranked) {
  for (const PlantedAlgorithm& one : algorithms)
    if (one.name == to_string(ranked.variant))
      return one.count(key.topology.ranks, static_cast<double>(key.problem.message_size.value));
  return {};
}

/// What sweeps of one node decided, by times within 3 % of the planted ones: who is faster than the
/// baseline stands before it. Sizes from 64 B by factors of 4 up to 4 MiB.
inline std::vector<Decision> decisions(const std::vector<int>& worlds, std::uint64_t seed,
                                       const std::string& environment = "e1") {
  std::mt19937_64 random(seed);
  std::vector<Decision> all;
  for (const int ranks : worlds)
    for (std::uint64_t size = 64; size <= 4U << 20U; size *= 4) {
      std::vector<literals::Entry> entries;
      for (const PlantedAlgorithm& one : algorithms) {
        const double noise = static_cast<double>(random() % 601) / 10'000 - 0.03;
        entries.push_back({std::string(one.name),
                           static_cast<int>(std::lround(
                               (1 + noise) * time_of(one.name, ranks, static_cast<double>(size)))),
                           one.is_baseline});
      }
      std::ranges::sort(entries, {}, &literals::Entry::median_ns);
      all.push_back(literals::decide(literals::all_reduce(size), entries, literals::world(1, ranks),
                                     environment));
    }
  return all;
}

}  // namespace colltune::planted_worlds
