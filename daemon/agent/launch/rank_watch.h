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
#include "colltune/hosts/witness.h"
#include "colltune/kernels/communicator.h"
#include "colltune/supervise/in_flight_file.h"
#include "colltune/supervise/rank_guard.h"
#include "colltune/sweep/control/control_plane.h"

namespace colltune {

/// Watches a rank while it measures: its recorder records where it is, its watchdog ends it if a
/// step is late, and its last steps can be read after its death. The ranks of rank 0's node record
/// into `<db>.in-flight`, which the supervisor reads. All others, and sweeps without a database,
/// record into memory of their own. On each host other than a supervisor's, one rank owns a
/// witness, which tells the supervisor which ranks there are stopped.
class RankWatch {
 public:
  /// Collective. The database's owner already holds its lock, so no other process's file is
  /// replaced.
  RankWatch(ControlPlane& control, const Communicator& launch,
            const std::optional<std::filesystem::path>& database, const std::string& sweep_uuid);

  [[nodiscard]] FlightRecorder& recorder() { return *recorder_; }
  /// Rank 0 tells the supervisor how far the launch is; does nothing on other ranks.
  void set_state(LaunchState state) noexcept;
  /// Records that this rank ends normally: later failures are not blamed on a variant. Rank 0
  /// removes the file if no supervisor will read it.
  void finish() noexcept;

 private:
  struct Region {
    alignas(64) std::byte bytes[flight_region_size]{};
  };

  std::unique_ptr<Witness> witness_;
  std::optional<InFlightFile> file_;
  std::unique_ptr<Region> own_;
  std::optional<FlightRecorder> recorder_;
  std::optional<CrashMarks> crash_marks_;
  std::optional<Watchdog> watchdog_;
  std::filesystem::path own_path_;  ///< of the in-flight file, on rank 0
  bool is_first_;
};

}  // namespace colltune
