// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "colltune/sweep/plan/sweep_plan.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/world_members.h"

namespace colltune {

/// What a launch that checks decisions measures, and what it cannot.
struct RetestPlan {
  /// A cell for each key that has a contest (contest_of): the baseline and the winners of its
  /// decisions, nothing else. No twins, no soak.
  SweepPlan plan;
  /// Decisions that this launch cannot check, in a line each with the reason.
  std::vector<std::string> left_out;
};

/// What a retest works with, all of one launch.
struct RetestLaunch {
  const Availability& availability;
  const Implementations& implementations;
  const std::string& environment_digest;
  std::span<const Quarantined> quarantined;
  std::span<const Composition> compositions;  ///< that decisions may name
  std::span<const WorldMembers> members;      ///< of the worlds that they were made in
  /// How the inputs were of the sweeps that made them; who is not there had the default.
  std::map<std::string, InputMode> inputs{};
};

/// Plans those of `decisions` that this launch can check: of its environment, in one of its worlds.
/// `time_per_key` is what a key may take on average. A launch measures with inputs in one mode,
/// that of the first decision; those that were made in another are left out. Pure.
[[nodiscard]] RetestPlan make_retest_plan(std::span<const Decision> decisions,
                                          const RetestLaunch& launch,
                                          std::chrono::nanoseconds time_per_key,
                                          std::uint64_t seed);

/// "all_reduce f32 sum 1KiB on 2 ranks (any)".
[[nodiscard]] std::string describe_decision(const Decision& decision);

}  // namespace colltune
