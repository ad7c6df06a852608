// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "cores.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>

namespace colltune {

double nanoseconds_since(BenchClock::time_point begin) {
  return std::chrono::duration<double, std::nano>(BenchClock::now() - begin).count();
}

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

void stay_on(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

nlohmann::json summary_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  return {{"median", at(0.5)}, {"p10", at(0.1)}, {"p90", at(0.9)}};
}

double HandOver::pass(int side, int passes) {
  std::uint64_t& turn = next_[side];
  const auto begin = BenchClock::now();
  for (int i = 0; i < passes; ++i, turn += 2) {
    while (turn_.load(std::memory_order_acquire) != turn) {
    }
    turn_.store(turn + 1, std::memory_order_release);
  }
  return nanoseconds_since(begin) / (2.0 * passes);
}

}  // namespace colltune
