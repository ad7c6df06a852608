// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "colltune/flight/flight_recorder.h"
#include "colltune/flight/watchdog.h"
#include "colltune/kernels/communicator.h"
#include "colltune/supervise/in_flight_file.h"
#include "colltune/supervise/rank_guard.h"
#include "colltune/sweep/control/control_plane.h"

namespace colltune {

/// Who watches a rank while it measures: its recorder says where it is, its watchdog ends it where
/// a step is late, and what it did last can be read after its death. The ranks of rank 0's node
/// record into `<db>.in-flight`, which the supervisor reads; all others, and sweeps without a
/// database, into memory of their own.
class RankWatch {
 public:
  /// Collective. The owner of the database holds its lock already: nobody else's file is replaced.
  RankWatch(ControlPlane& control, const Communicator& launch,
            const std::optional<std::filesystem::path>& database, const std::string& sweep_uuid);

  [[nodiscard]] FlightRecorder& recorder() { return *recorder_; }
  /// Rank 0 tells the supervisor how far the launch is; nothing on other ranks.
  void set_state(LaunchState state) noexcept;
  /// This rank ends in order: whatever happens from now on is nobody's fault.
  /// Rank 0 removes the file where no supervisor is to read it.
  void finish() noexcept;

 private:
  struct Region {
    alignas(64) std::byte bytes[flight_region_size]{};
  };

  std::optional<InFlightFile> file_;
  std::unique_ptr<Region> own_;
  std::optional<FlightRecorder> recorder_;
  std::optional<CrashMarks> crash_marks_;
  std::optional<Watchdog> watchdog_;
  std::filesystem::path own_path_;  ///< of the file, on rank 0
  bool is_first_;
};

}  // namespace colltune
