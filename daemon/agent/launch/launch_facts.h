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

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/implementation.h"
#include "colltune/machine/abort_flag.h"
#include "colltune/sweep/control/control_plane.h"
#include "colltune/sweep/measure/measure.h"
#include "colltune/sweep/ranks/availability.h"
#include "colltune/sweep/ranks/capability_rules.h"
#include "colltune/vocabulary/environment.h"
#include "process_settings.h"
#include "rank_watch.h"

namespace colltune {

/// What a command of a launched agent works with; all of it outlives the call.
struct AgentProcess {
  ControlPlane& control;
  Communicator& launch;
  const AbortFlag& stop;  ///< raised when the user wants the command to end with what it has
  const ProcessSettings& settings;
  std::chrono::steady_clock::time_point begin;  ///< before MPI_Init
  /// Bounds the control plane's waits once the plan is known.
  std::function<void(std::chrono::milliseconds)> set_control_time_out;
  /// Made by the command before the first trial; lives until MPI is finalized.
  std::unique_ptr<RankWatch>& watch;
  /// What the supervisor is told of a command that returns: that all is stored, or that further
  /// launches go on.
  LaunchState& end_state;
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
/// another build; warns of other differences. A plug-in has `call_limit` (0: as long as the longest
/// call) to say what it is. With `rules` as if some ranks were other ones.
[[nodiscard]] LaunchFacts learn_launch(const AgentProcess& process,
                                       std::span<const std::filesystem::path> plugins,
                                       std::chrono::seconds call_limit,
                                       const CapabilityRules& rules);

/// The time before which no call of `plan` counts as timed out, however cheap its cost line says
/// that it is: `asked` where that is not 0. Else what a hang costs, several times this, fits the
/// budget: an eighth of it, at least a second (a loaded machine takes a rank from its core for
/// less), at most ten; 4 seconds at least where ranks share cores.
[[nodiscard]] std::chrono::nanoseconds call_limit_floor(std::chrono::seconds asked,
                                                        const SweepPlan& plan);

/// How long the control plane may wait for a rank while `plan` is measured.
[[nodiscard]] std::chrono::milliseconds control_time_out(const SweepPlan& plan,
                                                         const MeasurePolicy& policy);

}  // namespace colltune
