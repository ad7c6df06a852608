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

/// All launches of the series to which `any` belongs (its environment and turn do not matter).
/// Each turn has the unchanged environment and each of `environments` once. Every other turn is
/// in reverse order, so that drift over time affects all of them alike.
[[nodiscard]] std::vector<SeriesLaunch> plan_series(const SeriesLaunch& any,
                                                    std::span<const LaunchEnvironment> environments,
                                                    int turns);

/// What a database holds of a configuration's series.
struct SeriesProgress {
  std::string series;  ///< the newest series; empty: there is none
  std::vector<SeriesLaunch> finished;
  /// Environment digests of the finished launches, in the order of `finished`.
  std::vector<std::string> digests;
};

/// The series among the sweeps of exactly this configuration and command. Counts sweeps that ended
/// normally or by their budget; an interrupted sweep resumes when its launch is made again. Pure.
/// Throws Error(invalid_argument) for a summary that cannot be parsed.
[[nodiscard]] SeriesProgress find_series(std::span<const SweepRecord> sweeps,
                                         const std::string& configuration,
                                         const std::string& command);

/// The launches of `planned` that are not finished, in order.
[[nodiscard]] std::vector<SeriesLaunch> missing_launches(std::span<const SeriesLaunch> planned,
                                                         std::span<const SeriesLaunch> finished);

/// The agent's command-line arguments for this launch, with the `variables` of its environment.
[[nodiscard]] std::vector<std::string> arguments_of(const SeriesLaunch& launch,
                                                    std::span<const Assignment> variables);

}  // namespace colltune
