// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/environment_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "colltune/decide/noise.h"
#include "colltune/decide/statistics.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// A key without its environment.
using Place = std::pair<Problem, Topology>;
/// What one environment's launches decided for a key, by launch turn.
using Turns = std::map<int, const Decision*>;

const RankedVariant* baseline_of(const Decision& decision) {
  const auto found = std::ranges::find_if(
      decision.ranked, [](const RankedVariant& ranked) { return ranked.is_baseline; });
  return found == decision.ranked.end() ? nullptr : &*found;
}

/// In nanoseconds; empty if the launch does not rank the variant or has no time for it.
std::optional<double> time_of(const Decision& decision, const Variant& variant) {
  const auto found = std::ranges::find(decision.ranked, variant, &RankedVariant::variant);
  if (found == decision.ranked.end() || found->median.count() <= 0) return std::nullopt;
  const RankedVariant* baseline = baseline_of(decision);
  if (baseline == nullptr || found->speedup_over_baseline <= 0)
    return static_cast<double>(found->median.count());
  return static_cast<double>(baseline->median.count()) / found->speedup_over_baseline;
}

std::optional<double> baseline_time_of(const Decision& decision) {
  const RankedVariant* baseline = baseline_of(decision);
  if (baseline == nullptr || baseline->median.count() <= 0) return std::nullopt;
  return static_cast<double>(baseline->median.count());
}

/// The time in one turn of the winner that the previous turn chose.
std::optional<double> winners_time(const Turns& turns, Turns::const_iterator turn) {
  const auto chooser = std::prev(turn == turns.begin() ? turns.end() : turn);
  return time_of(*turn->second, chooser->second->ranked.front().variant);
}

/// A launch's decisions over all families, without keys that were under load; counts those keys.
std::map<Place, const Decision*> quiet_decisions(const EnvironmentLaunch& launch,
                                                 const DecisionPolicy& policy,
                                                 std::size_t& left_out) {
  std::map<TuningKey, std::vector<const Measurement*>> trials;
  for (const Measurement& trial : launch.measurements) trials[trial.key].push_back(&trial);
  std::map<Place, const Decision*> quiet;
  for (const Decision& decision : launch.decisions) {
    if (decision.family != any_family) continue;
    const bool is_busy = policy.most_kept_waiting &&
                         kept_waiting_of(trials[decision.key]) > *policy.most_kept_waiting;
    if (is_busy)
      ++left_out;
    else
      quiet.emplace(Place(decision.key.problem, decision.key.topology), &decision);
  }
  return quiet;
}

double median_or_zero(const std::vector<double>& values) {
  return values.empty() ? 0 : median_of(values);
}

std::chrono::nanoseconds rounded(double ns) { return std::chrono::nanoseconds(std::llround(ns)); }

EnvironmentFinding finding_of(const std::vector<double>& speedups, double margin) {
  if (speedups.size() < least_environment_turns) return EnvironmentFinding::open;
  if (std::ranges::all_of(speedups, [&](double one) { return one >= 1 + margin; }))
    return EnvironmentFinding::faster;
  if (std::ranges::all_of(speedups, [&](double one) { return one <= 1 / (1 + margin); }))
    return EnvironmentFinding::slower;
  return EnvironmentFinding::open;
}

/// `turns` compared with those of the first environment, `first`.
EnvironmentTime compare(const std::string& environment, const Turns& turns, const Turns& first,
                        double margin) {
  EnvironmentTime out{.environment = environment, .winner = {}};
  const Decision& last = *std::prev(turns.end())->second;
  out.winner = last.ranked.front().variant;
  out.verdict = last.verdict;
  std::vector<double> times;
  std::vector<double> baselines;
  for (auto turn = turns.begin(); turn != turns.end(); ++turn) {
    const auto time = winners_time(turns, turn);
    const auto baseline = baseline_time_of(*turn->second);
    if (time) times.push_back(*time);
    if (baseline) baselines.push_back(*baseline);
    const auto beside = first.find(turn->first);
    if (beside == first.end()) continue;
    if (const auto reference = winners_time(first, beside); time && reference)
      out.speedups.push_back(*reference / *time);
    if (const auto reference = baseline_time_of(*beside->second); baseline && reference)
      out.baseline_speedups.push_back(*reference / *baseline);
  }
  out.time = rounded(median_or_zero(times));
  out.baseline = rounded(median_or_zero(baselines));
  out.speedup = median_or_zero(out.speedups);
  out.baseline_speedup = median_or_zero(out.baseline_speedups);
  out.finding = finding_of(out.speedups, margin);
  return out;
}

/// Collects geometric means.
struct Sums {
  EnvironmentMeans means;
  double winners = 0;
  double baselines = 0;
  std::size_t baseline_keys = 0;

  void add(const EnvironmentTime& time) {
    ++means.keys;
    winners += std::log(time.speedup);
    if (time.baseline_speedup > 0) {
      ++baseline_keys;
      baselines += std::log(time.baseline_speedup);
    }
    switch (time.finding) {
      case EnvironmentFinding::faster:
        ++means.faster;
        break;
      case EnvironmentFinding::slower:
        ++means.slower;
        break;
      case EnvironmentFinding::open:
        ++means.open;
        break;
    }
  }
  [[nodiscard]] EnvironmentMeans finish() const {
    EnvironmentMeans out = means;
    if (out.keys > 0) out.speedup = std::exp(winners / static_cast<double>(out.keys));
    if (baseline_keys > 0)
      out.baseline_speedup = std::exp(baselines / static_cast<double>(baseline_keys));
    return out;
  }
};

std::vector<EnvironmentMeans> means_of(const std::vector<KeyInEnvironments>& keys,
                                       std::span<const std::string> names) {
  std::vector<EnvironmentMeans> means;
  for (const std::string& name : names.subspan(1)) {
    std::map<std::string, Sums> by_operation;
    by_operation[""];
    for (const KeyInEnvironments& key : keys)
      for (const EnvironmentTime& time : key.environments) {
        if (time.environment != name || time.speedups.empty()) continue;
        by_operation[""].add(time);
        by_operation[std::string(operation_name(key.problem))].add(time);
      }
    for (auto& [operation, sums] : by_operation) {
      sums.means.environment = name;
      sums.means.operation = operation;
      means.push_back(sums.finish());
    }
  }
  return means;
}

}  // namespace

EnvironmentComparison compare_environments(std::span<const EnvironmentLaunch> launches,
                                           std::span<const std::string> names,
                                           const DecisionPolicy& policy) {
  EnvironmentComparison comparison;
  std::map<Place, std::map<std::string, Turns>> places;
  std::map<std::pair<std::string, int>, int> seen;
  for (const EnvironmentLaunch& launch : launches) {
    if (std::ranges::find(names, launch.environment) == names.end())
      throw Error(StatusCode::invalid_argument,
                  "a launch in the environment '" + launch.environment + "', which is unknown");
    if (++seen[{launch.environment, launch.turn}] > 1)
      throw Error(StatusCode::invalid_argument, "turn " + std::to_string(launch.turn) +
                                                    " of the environment '" + launch.environment +
                                                    "' is there twice");
    for (const auto& [place, decision] :
         quiet_decisions(launch, policy, comparison.rounds_left_out))
      places[place][launch.environment].emplace(launch.turn, decision);
  }
  for (const auto& [place, by_environment] : places) {
    KeyInEnvironments key{.problem = place.first, .topology = place.second, .environments = {}};
    static const Turns none;
    const auto first = by_environment.find(names.front());
    for (const std::string& name : names)
      if (const auto found = by_environment.find(name); found != by_environment.end())
        key.environments.push_back(compare(name, found->second,
                                           first == by_environment.end() ? none : first->second,
                                           policy.minimum_margin));
    comparison.keys.push_back(std::move(key));
  }
  comparison.means = means_of(comparison.keys, names);
  return comparison;
}

}  // namespace colltune
