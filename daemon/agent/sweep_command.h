// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "colltune/kernels/abort_flag.h"
#include "colltune/kernels/communicator.h"
#include "colltune/sweep/control_plane.h"
#include "rank_watch.h"
#include "sweep_journal.h"

namespace colltune {

/// `colltune-agent sweep` as the user asked for it.
struct SweepOptions {
  std::filesystem::path configuration;
  std::optional<std::filesystem::path> database;
  std::optional<std::filesystem::path> results;  ///< JSON Lines
  bool dry_run = false;
  bool quiet = false;
  bool allow_oversubscribe = false;
  std::vector<std::filesystem::path> plugins;  ///< besides those of the configuration
  Resume resume = Resume::automatic;
  /// No call counts as timed out earlier than this, however cheap its cost line says it is.
  std::chrono::seconds call_limit = std::chrono::seconds(10);
};

/// What the command works with; all of it outlives the call.
struct SweepProcess {
  ControlPlane& control;
  Communicator& launch;
  const AbortFlag& stop;  ///< raised when the user wants the sweep to end with what it has
  std::string malloc_settings;
  std::chrono::steady_clock::time_point begin;  ///< end of MPI_Init
  /// Bounds the control plane's waits once the plan is known.
  std::function<void(std::chrono::milliseconds)> set_control_time_out;
  /// Made by the command before the first trial; lives until MPI is finalized.
  std::unique_ptr<RankWatch>& watch;
};

/// Plans, measures, decides and publishes. Collective; throws the same Error on all ranks where one
/// of them lacks what it takes. Returns the exit code: 0, or 1 where some variant was wrong or
/// failed.
[[nodiscard]] int run_sweep_command(const SweepOptions& options, const SweepProcess& process);

}  // namespace colltune
