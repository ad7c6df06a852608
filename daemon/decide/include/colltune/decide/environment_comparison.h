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

/// One launch of a series, in one of its environments.
struct EnvironmentLaunch {
  std::string environment;
  int turn = 1;  ///< launches of one turn are close in time
  std::vector<Measurement> measurements;
  std::vector<Decision> decisions;  ///< over these measurements; only those of any_family are
                                    ///< compared
};

/// What launches show about one environment compared with the first one. Not stored.
enum class EnvironmentFinding {
  faster = 0,  ///< by the margin in every turn, of at least three
  slower = 1,  ///< likewise
  open = 2,    ///< neither, or too few turns
};
constexpr std::array<Named<EnvironmentFinding>, 3> enum_names(EnvironmentFinding) {
  return {{{EnvironmentFinding::faster, "faster"},
           {EnvironmentFinding::slower, "slower"},
           {EnvironmentFinding::open, "open"}}};
}
constexpr std::string_view enum_title(EnvironmentFinding) { return "finding"; }

/// Turns in which one environment must be ahead before anything is concluded: with two, a coin
/// would agree every other time.
constexpr std::size_t least_environment_turns = 3;

/// One key in one environment. Times are per call.
struct EnvironmentTime {
  std::string environment;
  Variant winner;  ///< of its last turn
  Verdict verdict = Verdict::no_baseline;
  std::chrono::nanoseconds time{};      ///< of the winners, the median over the turns
  std::chrono::nanoseconds baseline{};  ///< of the baseline, likewise; 0 if there is none
  /// How much faster this environment is than the first one, in each turn that both have: the
  /// ratio between the winners, and between the baselines.
  std::vector<double> speedups;
  std::vector<double> baseline_speedups;
  double speedup = 0;  ///< medians; 0 without turns
  double baseline_speedup = 0;
  EnvironmentFinding finding = EnvironmentFinding::open;  ///< by `speedups`

  friend bool operator==(const EnvironmentTime&, const EnvironmentTime&) = default;
};

/// One problem in one world; the others are compared with the first of `environments`.
struct KeyInEnvironments {
  Problem problem;
  Topology topology;
  std::vector<EnvironmentTime> environments;

  friend bool operator==(const KeyInEnvironments&, const KeyInEnvironments&) = default;
};

/// Means over the keys that an environment shares with the first one, either all or those of one
/// collective.
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
  std::vector<EnvironmentMeans> means;  ///< for each but the first environment: over all, then by
                                        ///< name
  std::size_t rounds_left_out = 0;      ///< keys of launches that were under load

  friend bool operator==(const EnvironmentComparison&, const EnvironmentComparison&) = default;
};

/// Compares environments launch by launch. Only launches of the same turn are compared, so slow
/// changes of the machine cancel. In each turn an environment's winner is the one that its
/// previous turn chose (in the first turn: that its last turn chose), so that no time comes from
/// the samples that selected it. With a single turn it does, which flatters both sides. A
/// variant's time in a launch is the baseline's median there divided by the variant's speed-up,
/// because a variant that left the rounds early ran at other times. Keys of launches in which ranks
/// waited for cores more than `policy` allows are left out; they decide nothing. `names` lists the
/// environments; the others are compared with the first. Pure. Throws Error(invalid_argument) if an
/// environment has a turn twice, or a launch's environment is not in `names`.
[[nodiscard]] EnvironmentComparison compare_environments(
    std::span<const EnvironmentLaunch> launches, std::span<const std::string> names,
    const DecisionPolicy& policy);

}  // namespace colltune
