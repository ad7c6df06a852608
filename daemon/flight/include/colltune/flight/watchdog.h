// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "colltune/flight/flight_recorder.h"

namespace colltune {

class CodeMap;
class StackProbe;

/// The exit code of a rank whose watchdog ended it: that of timeout(1).
constexpr int late_exit_code = 124;

struct WatchdogOptions {
  /// All ranks of this node, the own one included, for the report; empty: the own one alone.
  std::span<std::byte> board;
  std::chrono::milliseconds interval{200};  ///< between two looks; at least 100 ms
  std::chrono::milliseconds grace{300};     ///< that a step may be late
  std::size_t history = 8;                  ///< steps of each rank in the report
  int report_to = 2;                        ///< file descriptor
  /// An address in each library inside of which ranks wait for each other (MPI).
  std::vector<const void*> peer_libraries;
  /// What happens once the report is written; empty: _exit(late_exit_code). It runs on the
  /// watchdog's thread, once for each late step.
  std::function<void(const StepRecord& late)> on_late;
};

/// A thread that ends this process when its current step is late: the way out of a wait inside a
/// foreign library. Says which step is late and who is where (one rank of a board prints all of
/// them, the others themselves), by write(2) and without the allocator, whose lock the hanging
/// thread may hold. A step without a limit is not watched.
///
/// Counts of steps do not tell a rank that hangs inside a step from one that waits for it there: so
/// when a step is late, each rank of the board asks its thread for its call stack, and records
/// whether it is inside a library that waits for peers.
class Watchdog {
 public:
  /// Watches the thread that constructs it. `recorder` and the board outlive the watchdog.
  Watchdog(FlightRecorder& recorder, WatchdogOptions options);
  /// Stops the thread at once.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(const std::stop_token& stop);
  void locate_thread();
  void await_peers(const StepRecord& late) const;
  [[nodiscard]] bool is_peer_library(std::string_view file) const;
  void report(const StepRecord& late, SteadyTime now);
  void write_all(std::string_view text) const;

  FlightRecorder& recorder_;
  WatchdogOptions options_;
  std::vector<char> text_;
  std::unique_ptr<StackProbe> probe_;
  std::unique_ptr<CodeMap> code_;
  std::string own_file_;                 ///< that holds this code
  std::vector<std::string> peer_files_;  ///< of the peer libraries
  int wake_up_;                          ///< eventfd
  std::jthread thread_;
};

}  // namespace colltune
