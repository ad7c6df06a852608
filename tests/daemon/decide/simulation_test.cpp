// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What decide() and judge_race() do with simulated noise. Seeds are fixed; bounds are wide. The
// figures themselves are printed by tests/bench/decide_bench.

#include "simulated_cell.h"

#include <gtest/gtest.h>

#include <vector>

#include "colltune/decide/decide.h"
#include "colltune/decide/null_test.h"
#include "support/sanitizer.h"

namespace colltune {
namespace {

using simulation::Noise;
using simulation::Rng;
using simulation::simulate_cell;

// Enough for the bounds; under a sanitizer fewer, whose seeds are fixed all the same.
constexpr int cells = test::has_sanitizer ? 100 : 500;

int count_displaced(const std::vector<double>& speeds, int rounds, const Noise& noise,
                    bool is_raced) {
  Rng rng(1);
  int displaced = 0;
  for (int i = 0; i < cells; ++i) {
    const auto cell = simulate_cell(speeds, rounds, noise, rng, {}, is_raced);
    displaced += decide(cell.measurements, {}, "").front().verdict == Verdict::displaced ? 1 : 0;
  }
  return displaced;
}

TEST(Simulation, ARivalThatIsAsFastRarelyDisplacesTheBaseline) {
  for (const int rounds : {16, 48}) {
    EXPECT_LE(count_displaced({1}, rounds, simulation::quiet(), true), cells / 100);
    EXPECT_LE(count_displaced({1, 1, 1, 1, 1}, rounds, simulation::quiet(), true), cells / 100);
    EXPECT_LE(count_displaced({1}, rounds, simulation::noisy(), true), cells / 50);
  }
}

TEST(Simulation, ARivalThatIsFasterDisplacesTheBaseline) {
  EXPECT_GE(count_displaced({1.03}, 48, simulation::quiet(), true), cells * 75 / 100);
  EXPECT_GE(count_displaced({1.05}, 48, simulation::quiet(), true), cells * 95 / 100);
  EXPECT_GE(count_displaced({1.10}, 48, simulation::quiet(), true), cells * 97 / 100);
  EXPECT_GE(count_displaced({1.10}, 48, simulation::noisy(), true), cells * 85 / 100);
}

TEST(Simulation, ATwinRarelyWins) {
  Rng rng(2);
  std::vector<Measurement> all;
  for (int i = 0; i < cells; ++i)
    for (Measurement& one :
         simulate_cell({}, 32, simulation::quiet(), rng, {}, true).measurements) {
      one.key.problem.message_size = {static_cast<std::uint64_t>(i) + 1};
      all.push_back(std::move(one));
    }
  const NullTest twins = null_test(all, {});
  EXPECT_EQ(twins.keys, static_cast<std::size_t>(cells));
  EXPECT_LE(twins.wins, static_cast<std::size_t>(cells / 100));
  EXPECT_LE(twins.upper_bound, test::has_sanitizer ? 0.06 : 0.03);
}

/// Racing must not lose the best: it is faster than all others by more than the margin.
TEST(Simulation, TheBestSurvivesTheRace) {
  Rng rng(3);
  const std::vector<double> speeds{1.05, 1, 1, 0.98, 0.9, 0.8, 0.7, 0.5, 0.3, 0.2};
  int lost = 0;
  double work = 0;
  for (int i = 0; i < cells; ++i) {
    const auto cell = simulate_cell(
        speeds, 48, i % 2 == 0 ? simulation::quiet() : simulation::noisy(), rng, {}, true);
    const auto of_best = cell.measurements[2].samples.size();
    lost += static_cast<int>(of_best) < cell.rounds ? 1 : 0;
    work += cell.work;
  }
  EXPECT_LE(lost, cells / 100);
  EXPECT_LE(work / cells, 0.8);
}

/// The same verdict with and without racing, but for cells at the edge.
TEST(Simulation, RacingDoesNotChangeTheAnswer) {
  const std::vector<double> speeds{1.1, 1, 0.9, 0.5};
  const int with = count_displaced(speeds, 48, simulation::quiet(), true);
  const int without = count_displaced(speeds, 48, simulation::quiet(), false);
  EXPECT_NEAR(with, without, cells * 0.02);
}

}  // namespace
}  // namespace colltune
