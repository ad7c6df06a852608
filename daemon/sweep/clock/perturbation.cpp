// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/clock/perturbation.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

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

void add_counted(const ThreadCounters& before, const ThreadCounters& after, Perturbation& seen) {
  seen.involuntary_switches += after.involuntary_switches - before.involuntary_switches;
  seen.page_faults += after.page_faults - before.page_faults;
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

ThreadCounterReader::ThreadCounterReader() noexcept
    : schedstat_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

ThreadCounters ThreadCounterReader::read() const noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  ThreadCounters counters{.involuntary_switches = usage.ru_nivcsw, .page_faults = usage.ru_minflt};
  // Three numbers: time on a core and time waiting for a core, both in nanoseconds, and the number
  // of times on a core (Documentation/scheduler/sched-stats.rst of Linux).
  std::array<char, 96> text{};
  const ssize_t size = !schedstat_ ? 0 : ::pread(schedstat_.get(), text.data(), text.size(), 0);
  if (size <= 0) return counters;
  const std::string_view line(text.data(), static_cast<std::size_t>(size));
  const std::size_t second = line.find(' ');
  if (second == std::string_view::npos) return counters;
  std::int64_t waited = 0;
  const auto [end, error] =
      std::from_chars(line.data() + second + 1, line.data() + line.size(), waited);
  if (error == std::errc()) counters.kept_waiting = nanoseconds(waited);
  return counters;
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

void RunWatch::open() noexcept {
  if (!watches_) before_ = counters_.read();
}

void RunWatch::close(Perturbation& seen) const noexcept {
  if (!watches_) add_counted(before_, counters_.read(), seen);
}

void RunWatch::begin() noexcept {
  if (!watches_) return;
  gaps_ = {};
  began_ = Clock::now();
  before_ = counters_.read();
}

Clock::time_point RunWatch::watch_until(Clock::time_point end) { return watch_clock(end, gaps_); }

int RunWatch::end(nanoseconds window, nanoseconds duration, Perturbation& seen) {
  if (!watches_) return 0;
  watch_clock(Clock::now() + window, gaps_);
  const ThreadCounters after = counters_.read();
  seen.gaps.watched += gaps_.watched;
  seen.gaps.lost += gaps_.lost;
  seen.gaps.longest = std::max(seen.gaps.longest, gaps_.longest);
  add_counted(before_, after, seen);
  const nanoseconds waited = after.kept_waiting - before_.kept_waiting;
  const auto may_wait = static_cast<double>(duration.count()) * void_wait_share;
  const bool is_known = before_.kept_waiting.count() >= 0 && after.kept_waiting.count() >= 0;
  if (is_known) {
    seen.observed += Clock::now() - began_;
    seen.kept_waiting += waited;
  }
  const bool is_taken_off = after.involuntary_switches > before_.involuntary_switches &&
                            (!is_known || static_cast<double>(waited.count()) > may_wait);
  return (gaps_.longest > void_gap ? static_cast<int>(RunMark::gap) : 0) +
         (is_taken_off ? static_cast<int>(RunMark::switched) : 0);
}

}  // namespace colltune
