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

/// The exit code of a rank that its watchdog ended, the same as timeout(1)'s.
constexpr int late_exit_code = 124;

struct WatchdogOptions {
  /// The records of all ranks of this node, including this one, for the report; empty: only this
  /// one.
  std::span<std::byte> board;
  std::chrono::milliseconds interval{200};  ///< between two looks; at least 100 ms
  std::chrono::milliseconds grace{300};     ///< how late a step may be
  std::size_t history = 8;                  ///< steps of each rank in the report
  int report_to = 2;                        ///< file descriptor
  /// An address in each library inside which ranks wait for each other (MPI).
  std::vector<const void*> peer_libraries;
  /// Called once the report is written, on the watchdog's thread, once for each late step; empty:
  /// _exit(late_exit_code).
  std::function<void(const FlightStepRecord& late)> on_late;
};

/// A thread that ends this process when its current step is late: the way out of a wait inside a
/// foreign library. It reports which step is late and where each rank is (one rank of a board
/// prints all of them, the others themselves). It uses write(2) and no allocator, whose lock the
/// hanging thread may hold. A step without a limit is not watched.
///
/// Step counts do not distinguish a rank that hangs inside a step from one that waits for it there.
/// So when a step is late, each rank of the board asks its thread for its call stack, and records
/// whether it is inside a library that waits for peers.
class Watchdog {
 public:
  /// Watches the thread that constructs it. `recorder` and the board outlive the watchdog.
  Watchdog(FlightRecorder& recorder, WatchdogOptions options);
  /// Stops the watchdog's thread at once.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(const std::stop_token& stop);
  void locate_thread();
  void await_peers(const FlightStepRecord& late) const;
  [[nodiscard]] bool is_peer_library(std::string_view file) const;
  void report(const FlightStepRecord& late, SteadyTime now);
  void write_all(std::string_view text) const;

  FlightRecorder& recorder_;
  WatchdogOptions options_;
  std::vector<char> text_;
  std::unique_ptr<StackProbe> probe_;
  std::unique_ptr<CodeMap> code_;
  std::string own_file_;                 ///< file that contains this code
  std::vector<std::string> peer_files_;  ///< of the peer libraries
  int wake_up_;                          ///< eventfd
  std::jthread thread_;
};

}  // namespace colltune
