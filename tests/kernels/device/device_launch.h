// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "colltune/kernels/verification/oracle.h"
#include "colltune/vocabulary/problem.h"
#include "device_code/device_algorithm.h"

namespace colltune::test {

/// Some calls of a GPU algorithm on host threads: `blocks` x `threads` of them for each rank.
struct DeviceLaunch {
  Problem problem;
  int ranks = 2;
  int root = 0;
  int blocks = 2;
  int threads = 2;
  std::uint64_t chunk = 0;
  int slots = 2;
  int packets = 1;            ///< that a thread holds at once
  bool is_networked = false;  ///< peers are not mapped: what is put to them comes later
  /// Message sizes that the calls take in turn, up to that of `problem`, which is not registered;
  /// empty: that of `problem`.
  std::vector<std::uint64_t> sizes{};
  int calls = 5;               ///< back to back: a rank may be a call ahead
  bool has_late_rank = false;  ///< in each call another one begins late
  std::chrono::milliseconds late_by{3};
  std::uint64_t first_counter = 0;  ///< where the signals' counts begin
  /// All that is sent is this word, over and over, and so must be all that is received (max of
  /// u64).
  std::optional<std::uint64_t> word{};
  int missing_rank = -1;  ///< never begins
  int slow_rank = -1;     ///< comes late to what others give it
  device::HostFaults faults{};
  /// Of each wait.
  std::chrono::nanoseconds limit = std::chrono::minutes(1);
};

/// What came of it.
struct DeviceOutcome {
  std::string fault;  ///< the first wrong element, or bytes written where nobody may; empty: none
  int missing = -1;   ///< who a wait that was given up had waited for; -1: none was given up
  int left_out = 0;   ///< waits for others that a fault left out
  std::uint64_t steps = 0;  ///< of a call, as its signals count them
};

[[nodiscard]] DeviceOutcome run_on_host(const DeviceAlgorithm& algorithm,
                                        const DeviceLaunch& launch);

}  // namespace colltune::test
