// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/decide/decision_policy.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/measurement.h"
#include "colltune/vocabulary/names.h"

namespace colltune {

/// One launch of a sweep in one of several environments.
struct EnvironmentLaunch {
  std::string environment;
  int round = 1;  ///< launches of the same round are neighbours in time
  std::vector<Measurement> measurements;
  std::vector<Decision> decisions;  ///< over these measurements; any_family is compared
};

/// What launches say of one environment beside the first one. Stored nowhere.
enum class EnvironmentFinding {
  faster = 0,  ///< by the margin in every round, of at least three
  slower = 1,  ///< likewise
  open = 2,    ///< neither, or too few rounds
};
constexpr std::array<Named<EnvironmentFinding>, 3> enum_names(EnvironmentFinding) {
  return {{{EnvironmentFinding::faster, "faster"},
           {EnvironmentFinding::slower, "slower"},
           {EnvironmentFinding::open, "open"}}};
}
constexpr std::string_view enum_title(EnvironmentFinding) { return "finding"; }

/// Rounds in which one environment must be ahead before anything is said: with two, a coin says so
/// every other time.
constexpr std::size_t least_environment_rounds = 3;

/// One key in one environment. Times are per call.
struct EnvironmentTime {
  std::string environment;
  Variant winner;  ///< of its last round
  Verdict verdict = Verdict::no_baseline;
  std::chrono::nanoseconds time{};      ///< of the winners, the median over the rounds
  std::chrono::nanoseconds baseline{};  ///< of the baseline, likewise; 0 where there is none
  /// How much faster than the first environment in each round that both have: its winner than that
  /// one's winner, and baseline than baseline.
  std::vector<double> speedups;
  std::vector<double> baseline_speedups;
  double speedup = 0;  ///< medians; 0 without rounds
  double baseline_speedup = 0;
  EnvironmentFinding finding = EnvironmentFinding::open;  ///< by `speedups`

  friend bool operator==(const EnvironmentTime&, const EnvironmentTime&) = default;
};

/// One problem in one world; the first of `environments` is what the others are compared with.
struct KeyInEnvironments {
  Problem problem;
  Topology topology;
  std::vector<EnvironmentTime> environments;

  friend bool operator==(const KeyInEnvironments&, const KeyInEnvironments&) = default;
};

/// Over the keys that an environment shares with the first one, or those of one collective.
struct EnvironmentMeans {
  std::string environment;
  std::string operation;  ///< operation_name(); empty: all
  std::size_t keys = 0;
  double speedup = 1;  ///< geometric means; 1 without keys
  double baseline_speedup = 1;
  std::size_t faster = 0;
  std::size_t slower = 0;
  std::size_t open = 0;

  friend bool operator==(const EnvironmentMeans&, const EnvironmentMeans&) = default;
};

struct EnvironmentComparison {
  std::vector<KeyInEnvironments> keys;  ///< ordered by problem, then topology
  std::vector<EnvironmentMeans> means;  ///< of each but the first environment: all, then by name
  std::size_t rounds_left_out = 0;      ///< keys of launches in which something else ran

  friend bool operator==(const EnvironmentComparison&, const EnvironmentComparison&) = default;
};

/// Compares environments launch by launch: only launches of the same round are compared, so that a
/// machine that changes with the hours changes nothing. In each round an environment's winner is
/// the one that its round before chose (of the first: its last), so that no time is of the samples
/// that it was chosen by; with a single round it is, which flatters both sides. A variant's time
/// in a launch is the baseline's median there over its speed-up, since who left the rounds early
/// ran at other times. Keys of launches in which ranks waited for cores more
/// than `policy` allows are left out, as they decide nothing. `names`: the environments, the first
/// one is compared with. Pure. Throws Error(invalid_argument) where an environment has a round
/// twice, or a launch an environment that is not in `names`.
[[nodiscard]] EnvironmentComparison compare_environments(
    std::span<const EnvironmentLaunch> launches, std::span<const std::string> names,
    const DecisionPolicy& policy);

}  // namespace colltune
