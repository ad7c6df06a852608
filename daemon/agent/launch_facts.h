// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "colltune/kernels/abort_flag.h"
#include "colltune/kernels/communicator.h"
#include "colltune/kernels/implementation.h"
#include "colltune/sweep/availability.h"
#include "colltune/sweep/capability_rules.h"
#include "colltune/sweep/control_plane.h"
#include "colltune/sweep/measure.h"
#include "colltune/vocabulary/environment.h"
#include "rank_watch.h"

namespace colltune {

/// What a command of a launched agent works with; all of it outlives the call.
struct AgentProcess {
  ControlPlane& control;
  Communicator& launch;
  const AbortFlag& stop;  ///< raised when the user wants the command to end with what it has
  std::string malloc_settings;
  std::optional<std::string> variables;         ///< Environment::variables
  std::chrono::steady_clock::time_point begin;  ///< before MPI_Init
  /// Bounds the control plane's waits once the plan is known.
  std::function<void(std::chrono::milliseconds)> set_control_time_out;
  /// Made by the command before the first trial; lives until MPI is finalized.
  std::unique_ptr<RankWatch>& watch;
  /// The implementations of this program.
  std::function<Implementations()> make_catalogue;
};

/// What is known of a launch before anything is planned; the same on all ranks but for `launch`.
struct LaunchFacts {
  Implementations catalogue;
  Environment environment;  ///< this rank's; rank 0's is recorded
  std::string digest;       ///< of `environment`
  std::string launch;       ///< rank 0 only: how many ranks run where, for a person
  Availability availability;
};

/// Collective: the program's implementations and those of `plugins`, what the ranks can do, and
/// where they are. Throws the same Error on all ranks where one of them lacks what it takes or runs
/// another build; warns of other differences. With `rules` as if some ranks were other ones.
[[nodiscard]] LaunchFacts learn_launch(const AgentProcess& process,
                                       std::span<const std::filesystem::path> plugins,
                                       const CapabilityRules& rules);

/// How long the control plane may wait for a rank while `plan` is measured.
[[nodiscard]] std::chrono::milliseconds control_time_out(const SweepPlan& plan,
                                                         const MeasurePolicy& policy);

}  // namespace colltune
