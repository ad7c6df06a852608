// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "colltune/sweep/flight_recorder.h"

namespace colltune {

/// The exit code of a rank whose watchdog ended it: that of timeout(1).
constexpr int late_exit_code = 124;

struct WatchdogOptions {
  /// All ranks of this node, the own one included, for the report; empty: the own one alone.
  std::span<std::byte> board;
  std::chrono::milliseconds interval{200};  ///< between two looks; at least 100 ms
  std::chrono::milliseconds grace{300};     ///< that a step may be late
  std::size_t history = 8;                  ///< steps of each rank in the report
  int report_to = 2;                        ///< file descriptor
  /// What happens once the report is written; empty: _exit(late_exit_code). It runs on the
  /// watchdog's thread, once for each late step.
  std::function<void(const StepRecord& late)> on_late;
};

/// A thread that ends this process when its current step is late: the way out of a wait inside a
/// foreign library. Says which step is late and who is where (one rank of a board prints all of
/// them, the others themselves), by write(2) and without the allocator, whose lock the hanging
/// thread may hold. A step without a limit is not watched.
class Watchdog {
 public:
  /// `recorder` and the board outlive the watchdog.
  Watchdog(FlightRecorder& recorder, WatchdogOptions options);
  /// Stops the thread at once.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(const std::stop_token& stop);
  void report(const StepRecord& late, SteadyTime now);
  void write_all(std::string_view text) const;

  FlightRecorder& recorder_;
  WatchdogOptions options_;
  std::vector<char> text_;
  int wake_up_;  ///< eventfd
  std::jthread thread_;
};

}  // namespace colltune
