// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "colltune/db/records.h"
#include "colltune/sweep/spec/launch_environment.h"
#include "colltune/vocabulary/series_launch.h"

namespace colltune {

/// All launches of the series that `any` (its environment and round do not matter) belongs to:
/// each round has the unchanged environment and each of `environments`
/// once, every other round the other way round, so that what changes with time meets all alike.
[[nodiscard]] std::vector<SeriesLaunch> plan_series(const SeriesLaunch& any,
                                                    std::span<const LaunchEnvironment> environments,
                                                    int rounds);

/// What a database knows of a configuration's series.
struct SeriesProgress {
  std::string series;  ///< the newest; empty: there is none
  std::vector<SeriesLaunch> finished;
  /// Environments' digests of the finished launches, in the order of `finished`.
  std::vector<std::string> digests;
};

/// Of the sweeps of exactly this configuration and command that ended in order, also by their
/// budget: who was interrupted goes on by itself when its launch comes again. Pure. Throws
/// Error(invalid_argument) where a summary cannot be understood.
[[nodiscard]] SeriesProgress find_series(std::span<const SweepRecord> sweeps,
                                         const std::string& configuration,
                                         const std::string& command);

/// What is left to launch of `planned`, in its order.
[[nodiscard]] std::vector<SeriesLaunch> missing_launches(std::span<const SeriesLaunch> planned,
                                                         std::span<const SeriesLaunch> finished);

/// The words for the agent that make a launch this one: `variables` of its environment.
[[nodiscard]] std::vector<std::string> arguments_of(const SeriesLaunch& launch,
                                                    std::span<const Assignment> variables);

}  // namespace colltune
