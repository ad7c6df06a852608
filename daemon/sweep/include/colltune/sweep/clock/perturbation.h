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

/// Time that something else took from a rank, as seen in its spin windows.
struct Gaps {
  std::chrono::nanoseconds watched{};  ///< total length of the windows
  std::chrono::nanoseconds lost{};     ///< part of it lost in clock gaps above smallest_gap
  std::chrono::nanoseconds longest{};  ///< the longest gap
};

/// Two readings of the clock are some 25 to 60 ns apart. An interrupt takes 1 to 10 us, and another
/// process more.
inline constexpr std::chrono::nanoseconds smallest_gap = std::chrono::microseconds(1);
/// A run next to a gap longer than this does not count.
inline constexpr std::chrono::nanoseconds void_gap = std::chrono::microseconds(10);

/// Reads the clock until it reaches `end`, and records gaps. Returns the last reading.
std::chrono::steady_clock::time_point watch_clock(std::chrono::steady_clock::time_point end,
                                                  Gaps& gaps) noexcept;

/// The kernel's counters for one thread.
struct ThreadCounters {
  std::int64_t involuntary_switches = 0;
  std::int64_t page_faults = 0;  ///< minor faults: first touches of memory
  /// Time in which the thread could have run and got no core; negative if the kernel does not tell.
  std::chrono::nanoseconds kept_waiting{-1};
};

/// Reads the counters of the thread that created it. Not thread-safe.
class ThreadCounterReader {
 public:
  ThreadCounterReader() noexcept;
  [[nodiscard]] ThreadCounters read() const noexcept;

 private:
  Descriptor schedstat_;
};

/// What the kernel reports about a core.
struct CoreState {
  std::uint64_t throttle_events = 0;  ///< thermal, of the core and its package; 0: unreadable
  std::uint64_t frequency_khz = 0;    ///< 0: unreadable
};
/// `root` is the folder of the cores: /sys/devices/system/cpu on Linux.
[[nodiscard]] CoreState read_core_state(int core, const std::filesystem::path& root);
/// The state of the core that this thread runs on now.
[[nodiscard]] CoreState read_own_core_state();

/// What one rank saw during and around the timed runs of one trial.
struct Perturbation {
  Gaps gaps;
  std::chrono::nanoseconds observed{};      ///< from begin to end, if the kernel reports the next
  std::chrono::nanoseconds kept_waiting{};  ///< part of it: ThreadCounters::kept_waiting
  std::int64_t involuntary_switches = 0;
  std::int64_t page_faults = 0;
  std::chrono::nanoseconds device{};        ///< last call of each run, by a device's clock
  std::chrono::nanoseconds timed_device{};  ///< the same calls, by the host's clock
  std::int64_t device_calls = 0;            ///< number of those calls
  /// The worst device state seen after batches of runs; empty if there is no device, or it does not
  /// report its state.
  std::optional<DeviceState> device_state;
};

/// A switch voids a run only if it kept the thread waiting for more than this share of the run. A
/// run of 10 ms is hardly ever free of switches, and their microseconds do not show in it.
inline constexpr double void_wait_share = 0.05;

/// Watches one run after another, on the thread that created it. Not thread-safe.
class RunWatch {
 public:
  /// `watches` is false if ranks share cores: there a spinning rank takes the core from the rank
  /// that it waits for, and all ranks are switched all the time.
  explicit RunWatch(bool watches) : watches_(watches) { open(); }

  /// If it does not watch, the counters are read once around many runs instead of around each: a
  /// reading takes microseconds, which would add to the time of the rank that waits for this core.
  /// `close` adds what was counted since the last `open`; time between `close` and `open` is not
  /// counted.
  void open() noexcept;
  void close(Perturbation& seen) const noexcept;

  /// Called before the steps that precede the timed part, outside the clock reads.
  void begin() noexcept;
  /// The spin window right before the timed part; returns the last reading.
  std::chrono::steady_clock::time_point watch_until(std::chrono::steady_clock::time_point end);
  /// The spin window of this length right after the timed part. Adds what this rank saw to `seen`,
  /// and returns the sum of the RunMarks that it gives the run, which took `duration`.
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
