// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <vector>

#include "simulated_cell.h"

/// What something else that runs on the machine does to a cell, planted: it takes a core away at
/// random moments, for so long each time. The runs it hits get longer, and the watch sees what the
/// agent's sees: gaps in the windows around runs and, where the kernel is told, waits in them.
namespace colltune::simulation {

struct Load {
  double share = 0;       ///< of the time, that it takes from the slowest rank
  double slice_ns = 4e6;  ///< how long it holds the core each time, on average
  /// The kernel knows (a process on the same core): runs that waited are marked. Else a hypervisor
  /// took the core: only gaps around the runs show.
  bool is_told = true;
  /// A rank that gives its core away waits, too, but was not taken off it: no mark.
  bool is_given_away = false;
  /// How much of the load a variant feels. Who gives its core away gets it back later.
  double on_baseline = 1;
  double on_rivals = 1;
};

/// A busy loop on one of two cores: the scheduler shares that core by slices of 4 ms, and a rank
/// waited for it for about so much of the time (8 to 24 % in the median key).
inline Load busy_loop(double share) { return {.share = share}; }
inline Load steal(double share, double slice_ns) {
  return {.share = share, .slice_ns = slice_ns, .is_told = false};
}

/// `window_ns` are watched before and behind each run.
inline void apply(const Load& load, Measurement& trial, Rng& rng, double window_ns = 1e4) {
  const double share = load.share * (trial.is_baseline ? load.on_baseline : load.on_rivals);
  // Per nanosecond of own work.
  const double rate = share / (1 - share) / load.slice_ns;
  const auto lost_in = [&](double work) {
    double lost = 0;
    for (double at = rng.exponential() / rate; at < work; at += rng.exponential() / rate)
      lost += load.slice_ns * rng.exponential();
    return lost;
  };
  constexpr double void_gap = 1e4;
  constexpr double void_wait_share = 0.05;
  double watched = 0;
  double lost_in_windows = 0;
  double waited = 0;
  double observed = 0;
  trial.marks.assign(trial.samples.size(), 0);
  for (std::size_t i = 0; i < trial.samples.size(); ++i) {
    const auto work = static_cast<double>(trial.samples[i].count());
    const double around = lost_in(2 * window_ns);
    const double within = lost_in(work);
    watched += 2 * window_ns + around;
    lost_in_windows += around;
    waited += around + within;
    observed += work + 2 * window_ns + around + within;
    if (!load.is_given_away && around > void_gap) trial.marks[i] |= static_cast<int>(RunMark::gap);
    if (load.is_told && !load.is_given_away && around + within > (work + within) * void_wait_share)
      trial.marks[i] |= static_cast<int>(RunMark::switched);
    trial.samples[i] = std::chrono::nanoseconds(std::llround(work + within));
  }
  trial.conditions.steal = lost_in_windows / watched;
  if (load.is_told) trial.conditions.kept_waiting = waited / observed;
}

/// A cell without racing under a load.
inline std::vector<Measurement> loaded_cell(const std::vector<double>& speeds, int rounds,
                                            const Noise& noise, const Load& load, Rng& rng) {
  auto cell = simulate_cell(speeds, rounds, noise, rng, {}, false);
  if (load.share > 0)
    for (Measurement& one : cell.measurements) apply(load, one, rng);
  return std::move(cell.measurements);
}

}  // namespace colltune::simulation
