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
#include "colltune/sweep/plan/sweep_plan.h"
#include "colltune/sweep/ranks/availability.h"
#include "colltune/sweep/ranks/capability_rules.h"
#include "colltune/vocabulary/environment.h"
#include "process_settings.h"
#include "rank_watch.h"

namespace colltune {

/// What a sweep found, on rank 0. Everything in it outlives the call that it is given to.
struct SweepFindings {
  const SweepPlan& plan;
  std::span<const Measurement> measurements;
  std::span<const Decision> decisions;  ///< of this sweep alone
  const Environment& environment;
  const std::string& sweep_uuid;
  std::optional<Generation> generation;  ///< empty: nothing was published
};

/// What a command of a launched agent works with. Everything in it outlives the call.
struct AgentProcess {
  ControlPlane& control;
  Communicator& launch;
  const AbortFlag& stop;  ///< raised when the user wants the command to end with its results so far
  const ProcessSettings& settings;
  std::chrono::steady_clock::time_point begin;  ///< before MPI_Init
  /// Sets the bound of the control plane's waits, once the plan is known.
  std::function<void(std::chrono::milliseconds)> set_control_time_out;
  /// Created by the command before the first trial; lives until MPI is finalized.
  std::unique_ptr<RankWatch>& watch;
  /// The state reported to the supervisor when a command returns: everything is stored, or further
  /// launches continue.
  LaunchState& end_state;
  /// The implementations of this program.
  std::function<Implementations()> make_catalogue;
  /// Takes what a sweep found, on rank 0, instead of its being printed; empty: it is printed.
  std::function<void(const SweepFindings&)> take_findings{};
};

/// What is known of a launch before planning; the same on all ranks except for `launch`.
struct LaunchFacts {
  Implementations catalogue;
  Environment environment;  ///< this rank's; rank 0's is recorded
  Provenance provenance;    ///< likewise
  std::string digest;       ///< of `environment`
  std::string launch;       ///< rank 0 only: how many ranks run where, for a person
  Availability availability;
};

/// Collective: finds the implementations of the program and of `plugins`, what the ranks can do,
/// and where they are. Throws the same Error on all ranks if one of them lacks something required
/// or runs another build; warns of other differences. A plug-in has `call_limit` to describe
/// itself, at least a second (0: as long as the longest call). `rules` change what some ranks
/// report.
[[nodiscard]] LaunchFacts learn_launch(const AgentProcess& process,
                                       std::span<const std::filesystem::path> plugins,
                                       std::chrono::milliseconds call_limit,
                                       const CapabilityRules& rules);

/// The time before which no call of `plan` counts as timed out, however small its modelled cost:
/// `asked` if that is not 0. Otherwise an eighth of the budget, so that a hang, which costs several
/// times this, fits into it; at least a second (a loaded machine takes a rank from its core for
/// less), at most ten; at least 4 seconds if ranks share cores.
[[nodiscard]] std::chrono::nanoseconds call_limit_floor(std::chrono::milliseconds asked,
                                                        const SweepPlan& plan);

/// How long the control plane may wait for a rank while `plan` is measured.
[[nodiscard]] std::chrono::milliseconds control_time_out(const SweepPlan& plan,
                                                         const MeasurePolicy& policy);

}  // namespace colltune
