// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
//
// Operating characteristics of decide() and judge_race() under simulated noise: how often a
// baseline is displaced by rivals that are exactly as fast, how often by one that is faster by 3,
// 5, 10 %, what racing saves, and how often it loses the best. What the default policy is chosen
// by.
//   decide_bench [--cells N]
// With --full instead: what the tests of tests/daemon/decide ask of few keys, of many. 500 equal
// rivals swept ten times, in quiet and beside loads; and rivals faster by 30, 50, 100 % beside
// them.
//   decide_bench --full

#include <fmt/core.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "colltune/decide/decide.h"
#include "colltune/decide/null_test.h"
#include "colltune/decide/statistics.h"
#include "simulated_sweeps.h"

using namespace colltune;
using namespace colltune::simulation;

namespace {

struct Model {
  std::string_view name;
  Noise noise;
};

struct Rates {
  double displaced = 0;
  double undecided = 0;
  double twin_wins = 0;
  double work = 0;
  double regret_above_5 = 0;  ///< the winner is slower than the best by more than 5 %
};

Rates run(const std::vector<double>& speeds, int rounds, const Noise& noise,
          const DecisionPolicy& policy, bool is_raced, int cells) {
  Rng rng(20261121);
  double best = 1;
  for (const double speed : speeds) best = std::max(best, speed);
  Rates rates;
  for (int i = 0; i < cells; ++i) {
    const Cell cell = simulate_cell(speeds, rounds, noise, rng, policy, is_raced);
    const Decision decision = decide(cell.measurements, policy, "").front();
    rates.displaced += decision.verdict == Verdict::displaced ? 1 : 0;
    rates.undecided += decision.verdict == Verdict::undecided ? 1 : 0;
    rates.twin_wins += static_cast<double>(null_test(cell.measurements, policy).wins);
    rates.work += cell.work;
    const std::string& winner = decision.ranked.front().variant.implementation;
    const double speed = winner == "base" ? 1 : speeds.at(std::stoul(winner.substr(1)) - 2);
    rates.regret_above_5 += best / speed > 1.05 ? 1 : 0;
  }
  for (double* rate :
       {&rates.displaced, &rates.undecided, &rates.twin_wins, &rates.work, &rates.regret_above_5})
    *rate *= 100.0 / cells;
  return rates;
}

std::vector<double> rivals_with(double best, int count) {
  // The others: as fast as the baseline and slower, as Open MPI's algorithms are.
  std::vector<double> speeds{best};
  for (int i = 1; i < count; ++i) speeds.push_back(i % 2 == 0 ? 1 : 1 / (1 + 0.15 * i));
  return speeds;
}

struct NamedLoad {
  std::string name;
  Load load;
};

std::vector<NamedLoad> loads() {
  std::vector<NamedLoad> all{{"none", {}}};
  for (const double share : {0.09, 0.24})
    all.push_back({fmt::format("busy loop, {:.0f} % waiting", 100 * share), busy_loop(share)});
  for (const double share : {0.05, 0.15, 0.30})
    for (const double slice : {3e5, 4e6})
      all.push_back({fmt::format("{:.0f} % steal, {:.1f} ms each", 100 * share, slice / 1e6),
                     steal(share, slice)});
  return all;
}

int print_full() {
  constexpr int keys = 500;
  constexpr int sweeps = 10;
  fmt::print(
      "# {} equal rivals in {} sweeps: how many ever displaced the baseline, and the upper "
      "95 % bound\n",
      keys, sweeps);
  for (const Model& model : {Model{"quiet", quiet()}, Model{"noisy", noisy()}})
    for (const auto& [name, load] : loads()) {
      const int displaced = ever_displaced(keys, sweeps, model.noise, load, 20261126);
      fmt::print("{:>7} {:<26} {:>4} {:>6.2f} %\n", model.name, name, displaced,
                 100 * rate_upper_bound(static_cast<std::size_t>(displaced), keys, 0.95));
      std::fflush(stdout);
    }
  constexpr int cells = 400;
  fmt::print(
      "# share of {} cells (128 rounds) in which a rival displaces that is as fast, and "
      "faster by 30, 50, 100 %\n",
      cells);
  for (const auto& [name, load] : loads()) {
    fmt::print("{:<26}", name);
    for (const double speed : {1.0, 1.3, 1.5, 2.0}) {
      Rng rng(20261126);
      int displaced = 0;
      for (int i = 0; i < cells; ++i)
        displaced +=
            decide(loaded_cell({speed}, 128, quiet(), load, rng), {}, "").front().verdict ==
                    Verdict::displaced
                ? 1
                : 0;
      fmt::print(" {:>6.1f} %", 100.0 * displaced / cells);
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int cells = 1000;
  if (argc == 2 && std::string_view(argv[1]) == "--full") return print_full();
  if (argc == 3 && std::string_view(argv[1]) == "--cells")
    cells = std::atoi(argv[2]);
  else if (argc != 1 || cells < 1)
    return fmt::print(stderr, "usage: decide_bench [--cells N | --full]\n"), 2;
  const Model models[]{{"quiet", quiet()}, {"noisy", noisy()}, {"offsets", with_offsets()}};
  fmt::print("# {} simulated cells each; rates in %; noise models: simulated_cell.h\n", cells);
  fmt::print(
      "# null: all rivals exactly as fast as the baseline; power: one rival faster by 3, 5, "
      "10 %\n");
  fmt::print("{:>10} {:>7} {:>6} {:>6} {:>5} | {:>8} {:>9} {:>9} | {:>6} {:>6} {:>6} | {:>8}\n",
             "confidence", "noise", "rivals", "rounds", "raced", "null", "undecided", "twin wins",
             "3 %", "5 %", "10 %", "work");
  for (const double confidence : {0.95, DecisionPolicy{}.confidence})
    for (const Model& model : models)
      for (const int rivals : {1, 10})
        for (const int rounds : {16, 32, 64, 128})
          for (const bool is_raced : {false, true}) {
            if (confidence != DecisionPolicy{}.confidence && is_raced) continue;
            const DecisionPolicy policy{.confidence = confidence};
            const std::vector<double> equal(static_cast<std::size_t>(rivals), 1.0);
            const int some = std::max(1, rivals == 1 ? cells : cells / 3);
            const Rates null = run(equal, rounds, model.noise, policy, is_raced, some);
            double power[3] = {};
            double work = 0;
            for (int i = 0; i < 3; ++i) {
              const double gain[]{1.03, 1.05, 1.10};
              const Rates rates = run(rivals_with(gain[i], rivals), rounds, model.noise, policy,
                                      is_raced, std::max(1, some / 4));
              power[i] = rates.displaced;
              work = rates.work;
            }
            fmt::print(
                "{:>10} {:>7} {:>6} {:>6} {:>5} | {:>8.2f} {:>9.2f} {:>9.2f} | {:>6.1f} {:>6.1f} "
                "{:>6.1f} | {:>8.1f}\n",
                confidence, model.name, rivals, rounds, is_raced ? "yes" : "no", null.displaced,
                null.undecided, null.twin_wins, power[0], power[1], power[2], work);
            std::fflush(stdout);
          }
}
