// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What no collective on this node can beat: how long a cache line takes from one core to another,
// and how long it takes to copy a message once, on one core alone and on all of them at once. One
// thread per core that this process may use, each with memory that it touched itself. Prints JSON:
// medians over rounds, with the 10th and 90th percentile.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <barrier>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "colltune/vocabulary/bytes.h"
#include "cores.h"

namespace colltune {
namespace {

/// One way, in nanoseconds: two cores pass one line to and fro.
std::vector<double> hand_over(const std::vector<int>& cores, int rounds) {
  constexpr int passes = 2000;
  HandOver line;
  std::vector<double> times;
  const auto play = [&](int side) {
    stay_on(cores[static_cast<std::size_t>(side)]);
    for (int round = 0; round < rounds; ++round) {
      const double time = line.pass(side, passes);
      if (side == 0) times.push_back(time);
    }
  };
  {
    const std::jthread other([&] { play(1); });
    std::jthread([&] { play(0); }).join();
  }
  return times;
}

/// Nanoseconds for `size` bytes copied by each of `cores` at once, the slowest of them.
std::vector<double> copy(const std::vector<int>& cores, std::size_t size, int rounds) {
  std::barrier<> start(static_cast<std::ptrdiff_t>(cores.size()));
  std::vector<std::vector<double>> times(cores.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < cores.size(); ++i)
      threads.emplace_back([&, i] {
        stay_on(cores[i]);
        const std::vector<std::byte> image(size, std::byte{1});
        std::vector<std::byte> from(size);
        std::vector<std::byte> to(size, std::byte{2});
        const int repeats =
            std::max(1, static_cast<int>((1U << 20) / std::max<std::size_t>(size, 1)));
        for (int round = 0; round < rounds; ++round) {
          // Rewritten by its owner before each run, as a collective's input is: what that leaves
          // in the caches is what both begin with.
          std::memcpy(from.data(), image.data(), size);
          start.arrive_and_wait();
          const auto begin = BenchClock::now();
          for (int repeat = 0; repeat < repeats; ++repeat) {
            std::memcpy(to.data(), from.data(), size);
            asm volatile("" : : "r"(to.data()) : "memory");
          }
          times[i].push_back(nanoseconds_since(begin) / repeats);
        }
      });
  }
  std::vector<double> slowest(times.front());
  for (const auto& of_core : times)
    for (std::size_t round = 0; round < slowest.size(); ++round)
      slowest[round] = std::max(slowest[round], of_core[round]);
  return slowest;
}

int run(int argc, char** argv) {
  CLI::App app{"What no collective on this node can beat, as JSON"};
  std::vector<std::string> sizes{"64KiB", "1MiB", "16MiB"};
  int rounds = 51;
  std::size_t most_cores = 0;
  app.add_option("--sizes", sizes, "of the messages copied")->delimiter(',');
  app.add_option("--rounds", rounds)->check(CLI::Range(3, 100'000));
  app.add_option("--cores", most_cores, "as many as there are ranks, say [all that it may use]");
  CLI11_PARSE(app, argc, argv);

  std::vector<int> cores = usable_cores();
  if (most_cores > 0 && most_cores < cores.size()) cores.resize(most_cores);
  nlohmann::json found{{"cores", cores.size()}};
  if (cores.size() > 1) found["hand_over_ns"] = summary_of(hand_over(cores, rounds));
  for (const std::string& text : sizes) {
    const std::size_t size = parse_bytes(text).value;
    found["copy_ns"][text] = {{"one_core", summary_of(copy({cores.front()}, size, rounds))},
                              {"all_cores", summary_of(copy(cores, size, rounds))}};
  }
  std::cout << found.dump(1) << '\n';
  return 0;
}

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) { return colltune::run(argc, argv); }
