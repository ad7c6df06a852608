// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/perturbation.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "colltune/vocabulary/measurement.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

std::uint64_t read_number(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? number : 0;
}

}  // namespace

Clock::time_point watch_clock(Clock::time_point end, Gaps& gaps) noexcept {
  const auto begin = Clock::now();
  auto last = begin;
  while (last < end) {
    const auto now = Clock::now();
    const nanoseconds step = now - last;
    if (step > smallest_gap) {
      gaps.lost += step;
      gaps.longest = std::max(gaps.longest, step);
    }
    last = now;
  }
  gaps.watched += last - begin;
  return last;
}

ThreadCounters read_thread_counters() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return {.involuntary_switches = usage.ru_nivcsw, .page_faults = usage.ru_minflt};
}

CoreState read_core_state(int core, const std::filesystem::path& root) {
  const auto folder = root / ("cpu" + std::to_string(core));
  return {.throttle_events = read_number(folder / "thermal_throttle/core_throttle_count") +
                             read_number(folder / "thermal_throttle/package_throttle_count"),
          .frequency_khz = read_number(folder / "cpufreq/scaling_cur_freq")};
}

CoreState read_own_core_state() {
  const int core = ::sched_getcpu();
  return core < 0 ? CoreState{} : read_core_state(core, "/sys/devices/system/cpu");
}

void RunWatch::begin() noexcept {
  gaps_ = {};
  before_ = read_thread_counters();
}

Clock::time_point RunWatch::watch_until(Clock::time_point end) { return watch_clock(end, gaps_); }

int RunWatch::end(nanoseconds window, Perturbation& seen) {
  if (watches_) watch_clock(Clock::now() + window, gaps_);
  const ThreadCounters after = read_thread_counters();
  const std::int64_t switches = after.involuntary_switches - before_.involuntary_switches;
  seen.gaps.watched += gaps_.watched;
  seen.gaps.lost += gaps_.lost;
  seen.gaps.longest = std::max(seen.gaps.longest, gaps_.longest);
  seen.involuntary_switches += switches;
  seen.page_faults += after.page_faults - before_.page_faults;
  if (!watches_) return 0;
  return (gaps_.longest > void_gap ? static_cast<int>(RunMark::gap) : 0) +
         (switches > 0 ? static_cast<int>(RunMark::switched) : 0);
}

}  // namespace colltune
