// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "colltune/kernels/device_state.h"
#include "colltune/machine/descriptor.h"

namespace colltune {

/// What a rank saw in spin windows: time that something else took from it.
struct Gaps {
  std::chrono::nanoseconds watched{};  ///< length of the windows
  std::chrono::nanoseconds lost{};     ///< of it, in gaps of the clock above smallest_gap
  std::chrono::nanoseconds longest{};  ///< gap
};

/// Two readings of the clock lie some 25 to 60 ns apart; an interrupt takes 1 to 10 us, another
/// process more.
inline constexpr std::chrono::nanoseconds smallest_gap = std::chrono::microseconds(1);
/// A run beside a gap longer than this does not count.
inline constexpr std::chrono::nanoseconds void_gap = std::chrono::microseconds(10);

/// Reads the clock until it has reached `end`, and notes gaps. Returns the last reading.
std::chrono::steady_clock::time_point watch_clock(std::chrono::steady_clock::time_point end,
                                                  Gaps& gaps) noexcept;

/// What the kernel counts of a thread.
struct ThreadCounters {
  std::int64_t involuntary_switches = 0;
  std::int64_t page_faults = 0;  ///< minor ones: memory touched for the first time
  /// Time that it could have run and did not get a core; below 0 where the kernel does not tell.
  std::chrono::nanoseconds kept_waiting{-1};
};

/// Reads the counters of the thread that made it. Not thread-safe.
class ThreadCounterReader {
 public:
  ThreadCounterReader() noexcept;
  [[nodiscard]] ThreadCounters read() const noexcept;

 private:
  Descriptor schedstat_;
};

/// What the kernel says about a core.
struct CoreState {
  std::uint64_t throttle_events = 0;  ///< thermal, of the core and its package; 0: not readable
  std::uint64_t frequency_khz = 0;    ///< 0: not readable
};
/// `root`: the folder of the cores, /sys/devices/system/cpu on Linux.
[[nodiscard]] CoreState read_core_state(int core, const std::filesystem::path& root);
/// Of the core that this thread runs on now.
[[nodiscard]] CoreState read_own_core_state();

/// What one rank saw around and in the timed runs of one trial.
struct Perturbation {
  Gaps gaps;
  std::chrono::nanoseconds observed{};      ///< from begin to end, where the kernel tells the next
  std::chrono::nanoseconds kept_waiting{};  ///< of it: ThreadCounters::kept_waiting
  std::int64_t involuntary_switches = 0;
  std::int64_t page_faults = 0;
  std::chrono::nanoseconds device{};        ///< of the last call of each run, by a device's clock
  std::chrono::nanoseconds timed_device{};  ///< of the same, by the host's clock
  std::int64_t device_calls = 0;            ///< so many of them
  /// The worst of the looks at the device behind batches of runs; empty: it has none, or is silent.
  std::optional<DeviceState> device_state;
};

/// A switch that kept the thread waiting for less than this share of the run does not void it: in
/// a run of 10 ms there is hardly one without any, and the microseconds of each do not show.
inline constexpr double void_wait_share = 0.05;

/// Watches one run after the other, on the thread that made it. Not thread-safe.
class RunWatch {
 public:
  /// `watches`: false where ranks share cores: a spinning rank takes the core from the one that it
  /// waits for, and all of them are switched all the time.
  explicit RunWatch(bool watches) : watches_(watches) { open(); }

  /// Where it does not watch, the counters are read around many runs instead of each: the
  /// microseconds of a reading would be part of the time of who waits for this core. `close` adds
  /// what was counted since the last `open`; what lies between the two is not the runs'.
  void open() noexcept;
  void close(Perturbation& seen) const noexcept;

  /// Before what precedes the timed part, outside the clock reads.
  void begin() noexcept;
  /// The window right before the timed part; returns the last reading.
  std::chrono::steady_clock::time_point watch_until(std::chrono::steady_clock::time_point end);
  /// The window right after it, of this length. Returns the sum of the RunMarks that this rank
  /// gives the run, which took `duration`, and adds what it saw to `seen`.
  [[nodiscard]] int end(std::chrono::nanoseconds window, std::chrono::nanoseconds duration,
                        Perturbation& seen);

  [[nodiscard]] bool watches() const { return watches_; }

 private:
  bool watches_;
  ThreadCounterReader counters_;
  Gaps gaps_;
  std::chrono::steady_clock::time_point began_;
  ThreadCounters before_;
};

}  // namespace colltune
