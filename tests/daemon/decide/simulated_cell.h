// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "colltune/decide/race.h"
#include "colltune/vocabulary/measurement.h"

/// Cells with the noise that was found on the machines this was made on: what medians of a round
/// do when nothing differs. Seeded: the same numbers everywhere where the library's normal
/// distribution is the same.
namespace colltune::simulation {

/// All figures are of the logarithm of a round's median.
struct Noise {
  double own = 0.02;   ///< of each variant and round: repetitions in one process vary by 1.6 to 4 %
  double echo = 0.2;   ///< share of it that lasts into the next round: rounds are not independent
  double tail = 0.03;  ///< chance of a round that is slow by itself ...
  double tail_by = 0.3;   ///< ... by this much on average: repetitions span 6 to 14 %, some 60 %
  double drift = 0.005;   ///< common random walk, each round
  double spell = 0.01;    ///< chance that a noisy spell begins; it ends with the chance 0.05
  double spell_by = 0.3;  ///< all are slower in it
  double spell_factor = 2.5;  ///< own noise and tails grow by it
  double offset = 0;          ///< of each variant for the whole launch
};

inline Noise quiet() { return {}; }
inline Noise noisy() { return {.own = 0.04, .tail = 0.06, .spell = 0.04}; }
inline Noise with_offsets() { return {.offset = 0.005}; }

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return std::uniform_real_distribution<double>()(engine_); }
  double normal() { return normal_(engine_); }
  double exponential() { return -std::log(1 - uniform()); }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

/// The time of each round and variant; `speeds` are relative to 1.
inline std::vector<std::vector<double>> simulate_rounds(const std::vector<double>& speeds,
                                                        int rounds, const Noise& noise, Rng& rng) {
  constexpr double base_ns = 1e6;  // rounding to nanoseconds does not matter
  std::vector<double> offsets;
  for (std::size_t i = 0; i < speeds.size(); ++i) offsets.push_back(noise.offset * rng.normal());
  std::vector<double> echoes(speeds.size(), 0);
  std::vector<std::vector<double>> times(speeds.size());
  double drift = 0;
  bool is_spell = false;
  for (int round = 0; round < rounds; ++round) {
    drift += noise.drift * rng.normal();
    is_spell = is_spell ? rng.uniform() > 0.05 : rng.uniform() < noise.spell;
    const double factor = is_spell ? noise.spell_factor : 1;
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      echoes[i] = noise.echo * echoes[i] +
                  std::sqrt(1 - noise.echo * noise.echo) * noise.own * factor * rng.normal();
      double logarithm = drift + offsets[i] + echoes[i] + (is_spell ? noise.spell_by : 0);
      if (rng.uniform() < noise.tail * factor) logarithm += noise.tail_by * rng.exponential();
      times[i].push_back(base_ns / speeds[i] * std::exp(logarithm));
    }
  }
  return times;
}

/// A cell: the baseline, its twin, and rivals of the given speeds.
struct Cell {
  std::vector<Measurement> measurements;
  int rounds = 0;   ///< until it was decided, or all
  double work = 1;  ///< share of the runs that were made of those without racing
};

inline Measurement to_measurement(std::size_t index, const std::vector<double>& times) {
  Measurement measurement{
      .key = {.problem = {.message_size = {1024}}, .environment_digest = "e"},
      .variant = {.implementation = index < 2 ? "base" : "r" + std::to_string(index)},
      .family = "mpi",
      .is_baseline = index < 2,
      .is_twin = index == 1,
      .verified_calls = 2};
  for (const double time : times) measurement.samples.emplace_back(std::llround(time));
  return measurement;
}

/// `speeds` of the rivals. With `is_raced`, variants leave and the cell ends as judge_race() says.
inline Cell simulate_cell(const std::vector<double>& speeds, int rounds, const Noise& noise,
                          Rng& rng, const DecisionPolicy& policy, bool is_raced) {
  std::vector<double> all{1, 1};
  all.insert(all.end(), speeds.begin(), speeds.end());
  std::vector<std::vector<double>> times = simulate_rounds(all, rounds, noise, rng);
  Cell cell{.rounds = rounds};
  if (is_raced) {
    std::vector<int> ran(all.size(), rounds);
    for (int round = 1; round <= rounds; ++round) {
      std::vector<RacedTrial> raced;
      for (std::size_t i = 0; i < all.size(); ++i)
        raced.push_back({.family = "mpi",
                         .is_baseline = i == 0,
                         .is_twin = i == 1,
                         .round_medians = std::span(times[i]).first(
                             static_cast<std::size_t>(std::min(round, ran[i])))});
      const RaceState state = judge_race(raced, policy);
      for (std::size_t i = 0; i < all.size(); ++i)
        if (state.may_leave[i]) ran[i] = std::min(ran[i], round);
      if (!state.is_decided) continue;
      cell.rounds = round;
      break;
    }
    double runs = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const int of_variant = std::min(ran[i], cell.rounds);
      times[i].resize(static_cast<std::size_t>(of_variant));
      runs += of_variant;
    }
    cell.work = runs / (static_cast<double>(all.size()) * rounds);
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    cell.measurements.push_back(to_measurement(i, times[i]));
  return cell;
}

}  // namespace colltune::simulation
