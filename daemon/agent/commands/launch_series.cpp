// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launch_series.h"

#include <algorithm>
#include <utility>

#include "colltune/decide/sweep_summary.h"

namespace colltune {

std::vector<SeriesLaunch> plan_series(const SeriesLaunch& any,
                                      std::span<const LaunchEnvironment> environments, int turns) {
  std::vector<SeriesLaunch> planned;
  for (int turn = 1; turn <= turns; ++turn) {
    const auto first = static_cast<std::ptrdiff_t>(planned.size());
    const auto add = [&](std::string_view environment) {
      SeriesLaunch& launch = planned.emplace_back(any);
      launch.environment = environment;
      launch.turn = turn;
    };
    add(unchanged_environment);
    for (const LaunchEnvironment& environment : environments) add(environment.name);
    if (turn % 2 == 0) std::reverse(planned.begin() + first, planned.end());
  }
  return planned;
}

SeriesProgress find_series(std::span<const SweepRecord> sweeps, const std::string& configuration,
                           const std::string& command) {
  std::vector<std::pair<SeriesLaunch, const SweepRecord*>> launches;
  const SweepRecord* newest = nullptr;
  SeriesProgress progress;
  for (const SweepRecord& sweep : sweeps) {
    if (sweep.purpose != SweepPurpose::choose || sweep.configuration != configuration) continue;
    const auto launch = read_sweep_summary(sweep.summary, sweep.uuid).launch_of;
    if (!launch || launch->command != command) continue;
    launches.emplace_back(*launch, &sweep);
    if (newest != nullptr && sweep.finished_at < newest->finished_at) continue;
    newest = &sweep;
    progress.series = launch->series;
  }
  for (const auto& [launch, sweep] : launches) {
    if (launch.series != progress.series) continue;
    progress.finished.push_back(launch);
    progress.digests.push_back(sweep->environment_digest);
  }
  return progress;
}

std::vector<SeriesLaunch> missing_launches(std::span<const SeriesLaunch> planned,
                                           std::span<const SeriesLaunch> finished) {
  std::vector<SeriesLaunch> missing;
  for (const SeriesLaunch& launch : planned)
    if (std::ranges::find(finished, launch) == finished.end()) missing.push_back(launch);
  return missing;
}

std::vector<std::string> arguments_of(const SeriesLaunch& launch,
                                      std::span<const Assignment> variables) {
  std::vector<std::string> arguments{"--series",
                                     launch.series,
                                     "--series-command",
                                     launch.command,
                                     "--launch-environment",
                                     launch.environment,
                                     "--launch-turn",
                                     std::to_string(launch.turn)};
  for (const Assignment& variable : variables) {
    arguments.emplace_back("--variable");
    arguments.push_back(variable.name + "=" + variable.value);
  }
  return arguments;
}

}  // namespace colltune
