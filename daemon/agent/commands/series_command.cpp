// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "series_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "colltune/db/store.h"
#include "colltune/journal/sweep_journal.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

constexpr int signal_base = 128;

std::string command_digest(const SeriesOptions& options) {
  return digest_of_text(canonical_text(options.supervised.command));
}

/// The variables that `environment` sets; nothing for the unchanged one.
std::span<const Assignment> variables_of(const SweepSpec& spec, const std::string& environment) {
  const auto found =
      std::ranges::find(spec.launch_environments, environment, &LaunchEnvironment::name);
  return found == spec.launch_environments.end() ? std::span<const Assignment>()
                                                 : std::span(found->variables);
}

std::string describe(const SeriesLaunch& launch, const SweepSpec& spec) {
  const auto variables = variables_of(spec, launch.environment);
  return fmt::format(
      "turn {} of {}: environment '{}'{}", launch.turn, spec.launch_turns, launch.environment,
      variables.empty() ? std::string()
                        : ", " + to_text(std::vector(variables.begin(), variables.end())));
}

}  // namespace

SeriesProgress read_series(const SeriesOptions& options) {
  const std::filesystem::path& database = options.supervised.database;
  if (!std::filesystem::exists(database)) return {};
  { const Store migrated(database); }
  return find_series(StoreReader(database).sweeps(), options.spec.text, command_digest(options));
}

int run_series(const SeriesOptions& options, const SuperviseLaunch& supervise_launch,
               const std::function<void(const std::string&)>& say) {
  const SweepSpec& spec = options.spec;
  const SeriesProgress progress = read_series(options);
  const auto plan = [&](const std::string& series) {
    return plan_series({.series = series, .command = command_digest(options), .environment = {}},
                       spec.launch_environments, spec.launch_turns);
  };
  auto launches = missing_launches(plan(progress.series), progress.finished);
  if (progress.series.empty() || launches.empty())
    launches = plan(random_uuid());
  else
    say(fmt::format("continuing series {}: {} of its launches are stored already", progress.series,
                    progress.finished.size()));
  int code = 0;
  std::set<std::string> given_up;
  for (const SeriesLaunch& launch : launches) {
    if (given_up.contains(launch.environment)) continue;
    say(describe(launch, spec));
    SuperviseOptions supervised = options.supervised;
    for (std::string& word : arguments_of(launch, variables_of(spec, launch.environment)))
      supervised.command.push_back(std::move(word));
    const int ended_with = supervise_launch(supervised);
    code = std::max(code, ended_with);
    if (ended_with <= 1) continue;
    if (ended_with > signal_base) return ended_with;
    if (launch.environment == unchanged_environment) return ended_with;
    say(fmt::format("environment '{}' is given up (exit code {}); the others go on",
                    launch.environment, ended_with));
    given_up.insert(launch.environment);
  }
  say(fmt::format("the environments side by side: colltune report environments --db {}",
                  options.supervised.database.string()));
  return code;
}

}  // namespace colltune
