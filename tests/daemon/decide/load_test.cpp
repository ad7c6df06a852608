// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Deciding beside a load, with planted times. Seeds are fixed. tests/bench/decide_bench --load
// prints the same with more cells.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "colltune/decide/decide.h"
#include "colltune/decide/statistics.h"
#include "simulated_load.h"
#include "support/sanitizer.h"

namespace colltune {
namespace {

using simulation::Load;
using simulation::Rng;

constexpr int rounds = 128;

struct Case {
  std::string name;
  Load load;
};

std::vector<Case> loads() {
  std::vector<Case> all;
  for (const double share : {0.09, 0.24})
    all.push_back({"busy loop " + std::to_string(share), simulation::busy_loop(share)});
  for (const double share : {0.05, 0.15, 0.30})
    for (const double slice : {3e5, 4e6})
      all.push_back({"steal " + std::to_string(share) + " in slices of " + std::to_string(slice),
                     simulation::steal(share, slice)});
  return all;
}

int count_displaced(double speed, const Load& load, int cells, int seed) {
  Rng rng(static_cast<std::uint64_t>(seed));
  int displaced = 0;
  for (int i = 0; i < cells; ++i) {
    const auto cell = simulation::loaded_cell({speed}, rounds, simulation::quiet(), load, rng);
    displaced += decide(cell, {}, "").front().verdict == Verdict::displaced ? 1 : 0;
  }
  return displaced;
}

TEST(Load, ARivalThatIsAsFastRarelyDisplacesTheBaseline) {
  constexpr std::size_t cells = test::has_sanitizer ? 100 : 500;
  for (const auto& [name, load] : loads()) {
    const int displaced = count_displaced(1, load, cells, 1);
    EXPECT_LE(displaced, static_cast<int>(cells / 100)) << name;
    EXPECT_LE(rate_upper_bound(static_cast<std::size_t>(displaced), cells, 0.95),
              test::has_sanitizer ? 0.06 : 0.03)
        << name;
  }
}

TEST(Load, ARivalThatIsMuchFasterDisplacesTheBaseline) {
  constexpr int cells = test::has_sanitizer ? 20 : 100;
  for (const auto& [name, load] : loads())
    for (const double gain : {1.3, 1.5, 2.0})
      EXPECT_GE(count_displaced(gain, load, cells, 2), cells * 90 / 100) << name << ' ' << gain;
}

TEST(Load, WhatTheLoadItselfDidProvesNothing) {
  // Both are as fast. The baseline gives its core away while it waits and gets it back late; the
  // rival never does. No run is marked, and all of the baseline's are longer.
  constexpr int cells = test::has_sanitizer ? 100 : 200;
  for (const double share : {0.1, 0.2, 0.3}) {
    Load load{.share = share, .slice_ns = 2e4, .is_given_away = true, .on_rivals = 0};
    EXPECT_LE(count_displaced(1, load, cells, 3), cells / 100) << share;
    // What is faster by more than the load can have done still wins.
    EXPECT_GE(count_displaced(1.5, load, cells, 3), cells * 90 / 100) << share;
  }
}

}  // namespace
}  // namespace colltune
