// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "colltune/sweep/plan/sweep_plan.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/world_members.h"

namespace colltune {

/// What a launch that checks decisions measures, and what it cannot check.
struct ConfirmLaunchPlan {
  /// One cell for each key that has a contest (contest_of), with only the baseline and the winners
  /// of its decisions. No twins, no soak.
  SweepPlan plan;
  /// Decisions that this launch cannot check, one line each with the reason.
  std::vector<std::string> left_out;
};

/// The inputs of a launch of confirm, all from one launch.
struct ConfirmLaunchFacts {
  const Availability& availability;
  const Implementations& implementations;
  const std::string& environment_digest;
  std::span<const Quarantined> quarantined;
  std::span<const Composition> compositions;  ///< that decisions may name
  std::span<const WorldMembers> members;      ///< of the worlds in which the decisions were made
};

/// Plans the `decisions` that this launch can check: those of its environment, in one of its
/// worlds. `time_per_key` is the average time for a key. A launch measures with one input mode,
/// that of the first decision; decisions made with another are left out. Pure.
[[nodiscard]] ConfirmLaunchPlan make_confirm_launch_plan(std::span<const Decision> decisions,
                                                         const ConfirmLaunchFacts& launch,
                                                         std::chrono::nanoseconds time_per_key,
                                                         std::uint64_t seed);

/// "all_reduce f32 sum 1KiB on 2 ranks (any)".
[[nodiscard]] std::string describe_decision(const Decision& decision);

}  // namespace colltune
