// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace colltune {

using BenchClock = std::chrono::steady_clock;

[[nodiscard]] double nanoseconds_since(BenchClock::time_point begin);

/// The cores that this process may use.
[[nodiscard]] std::vector<int> usable_cores();
/// Keeps the calling thread on `core`.
void stay_on(int core);

/// The median and the 10th and 90th percentile.
[[nodiscard]] nlohmann::json summary_of(std::vector<double> values);

/// A line that two cores hand to each other.
class HandOver {
 public:
  /// Both sides (0 and 1) call it at the same time, each on a core of its own: `passes` times to
  /// and fro. Returns the nanoseconds of one way.
  double pass(int side, int passes);

 private:
  alignas(128) std::atomic<std::uint64_t> turn_{0};
  alignas(128) std::uint64_t next_[2]{0, 1};  ///< of each side
};

}  // namespace colltune
