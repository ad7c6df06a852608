// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/kernels/implementation.h"
#include "colltune/sweep/control/control_plane.h"
#include "colltune/sweep/ranks/availability.h"
#include "colltune/sweep/spec/sweep_spec.h"
#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/tuning_key.h"
#include "colltune/vocabulary/variant.h"

namespace colltune {

/// The ranks that a cell runs on.
struct PlannedWorld {
  Topology topology;
  std::vector<int> ranks;  ///< ranks of the launch, indexed by the rank in the world
  Members members;         ///< what the ranks can do

  friend bool operator==(const PlannedWorld&, const PlannedWorld&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, PlannedWorld>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("topology", self.topology);
  visit("ranks", self.ranks);
  visit("members", self.members);
}

/// What a model of earlier sweeps says that a trial takes, with the interval that holds it in 9 of
/// 10 cases; no interval where it was measured.
struct Forecast {
  std::chrono::nanoseconds time{};
  std::chrono::nanoseconds low{};
  std::chrono::nanoseconds high{};

  friend bool operator==(const Forecast&, const Forecast&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Forecast>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("time_ns", self.time);
  visit("low_ns", self.low);
  visit("high_ns", self.high);
}

/// One trial: a variant that every rank of the world supports, or a composition for ranks that do
/// not all support one variant; with everything that the implementations say about it.
struct PlannedVariant {
  Variant variant;                         ///< for a composition, its name
  std::optional<Composition> composition;  ///< empty: all ranks run `variant`
  std::string family;
  std::string protocol;
  bool is_baseline = false;
  /// The baseline a second time, as a trial that never wins: any gain it seems to have is noise.
  bool is_twin = false;
  bool is_emulated = false;
  Rounding rounding = Rounding::exact;
  NumericClass numeric_class = NumericClass::any;
  Limits limits;
  std::chrono::nanoseconds call_limit{};  ///< a call that takes longer counts as timed out
  int learning_calls = 0;                 ///< Implementation::learning_calls; maximum over the
                                          ///< parts
  std::vector<int> supporting_kinds;      ///< kinds of the world that support the trial, ascending
  std::optional<Forecast> forecast;       ///< empty: earlier sweeps say nothing of it
  bool is_audit = false;  ///< it was pruned, and is measured to see whether that was right

  friend bool operator==(const PlannedVariant&, const PlannedVariant&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, PlannedVariant>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("variant", self.variant);
  visit("composition", self.composition);
  visit("family", self.family);
  visit("protocol", self.protocol);
  visit("is_baseline", self.is_baseline);
  visit("is_twin", self.is_twin);
  visit("is_emulated", self.is_emulated);
  visit("rounding", self.rounding);
  visit("numeric_class", self.numeric_class);
  visit("limits", self.limits);
  visit("call_limit_ns", self.call_limit);
  visit("settling_calls", self.learning_calls);
  visit("supporting_kinds", self.supporting_kinds);
  visit("forecast", self.forecast);
  visit("is_audit", self.is_audit);
}

/// One key and the variants that race for it: the baseline first, then its twin, then those with a
/// forecast by its time. Among those that decide, cells of more weight come first.
struct Cell {
  int world = 0;  ///< index into SweepPlan::worlds
  TuningKey key;
  std::vector<PlannedVariant> variants;
  /// The size does not take part in deciding; such cells come after all others. Its variants
  /// include those that the table may answer at this size: those of the next smaller and the next
  /// larger size.
  bool is_holdout = false;
  /// How much the key matters beside the plan's others: that of its calls, else 1.
  double weight = 1;

  friend bool operator==(const Cell&, const Cell&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Cell>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("world", self.world);
  visit("key", self.key);
  visit("variants", self.variants);
  visit("is_holdout", self.is_holdout);
  visit("weight", self.weight);
}

/// What is not measured, and why.
struct Skipped {
  int world = 0;
  Problem problem;
  std::string variant;                ///< printed; empty if the whole problem is skipped
  std::string reason;                 ///< given by the first rank that lacks it
  std::vector<int> supporting_kinds;  ///< kinds of the world that support it, ascending

  friend bool operator==(const Skipped&, const Skipped&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Skipped>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("world", self.world);
  visit("problem", self.problem);
  visit("variant", self.variant);
  visit("reason", self.reason);
  visit("supporting_kinds", self.supporting_kinds);
}

/// The expanded, ordered list of everything that a sweep does.
struct SweepPlan {
  std::vector<PlannedWorld> worlds;
  std::vector<Cell> cells;
  std::vector<Skipped> skipped;
  std::chrono::nanoseconds budget{};  ///< 0: none
  int passes = 1;                     ///< visits of the sweep to each cell that decides
  int full_passes = 1;                ///< in these, the first, all variants take part
  double precision = 0.02;
  std::uint64_t seed = 1;
  Soak soak;
  InputMode input_mode = default_input;            ///< as in the keys of all cells
  std::optional<Synchronization> synchronization;  ///< empty: each cell uses what works there
  DecisionPolicy decision;
  std::uint64_t pruned = 0;  ///< trials left out for their forecasts, the audited ones included

  friend bool operator==(const SweepPlan&, const SweepPlan&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, SweepPlan>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("worlds", self.worlds);
  visit("cells", self.cells);
  visit("skipped", self.skipped);
  visit("budget_ns", self.budget);
  visit("passes", self.passes);
  visit("full_passes", self.full_passes);
  visit("precision", self.precision);
  visit("seed", self.seed);
  visit("soak", self.soak);
  visit("input_mode", self.input_mode);
  visit("synchronization", self.synchronization);
  visit("decision", self.decision);
  visit("pruned", self.pruned);
}

/// Trials of all cells.
[[nodiscard]] std::size_t count_trials(const SweepPlan& plan);

/// The compositions that the plan's variants name, each once.
[[nodiscard]] std::vector<Composition> compositions_of(const SweepPlan& plan);

/// A variant that must not run for one key.
struct Quarantined {
  std::string key_digest;  ///< digest_of_value of the TuningKey
  std::string variant;     ///< printed
  std::string reason;
};

/// Results of earlier sweeps of a database that a plan depends on.
struct Findings {
  std::span<const Quarantined> quarantined = {};
  /// Decisions measured for groups of ranks alone: what the groups run inside.
  std::span<const Decision> decisions = {};
  /// Compositions to measure again: each is tried for every problem that it fits,
  std::span<const Composition> compositions = {};
  /// but in this world alone if it is set; it replaces the configuration's worlds, and its calls
  /// are left out.
  const PlannedWorld* world = nullptr;
  /// Measurements of earlier sweeps, from which trials are forecast.
  std::span<const Measurement> measured = {};
};

/// Expands `spec`. Pure and deterministic. Throws Error(invalid_argument) for a world larger than
/// the launch, a pattern that matches nothing, an unknown parameter, or more than a million trials.
[[nodiscard]] SweepPlan make_plan(const SweepSpec& spec, const Availability& availability,
                                  const Implementations& implementations,
                                  const std::string& environment_digest,
                                  const Findings& findings = {});

/// Collective: rank 0 makes the plan (other ranks' arguments are not used); all ranks get it or
/// throw rank 0's Error.
[[nodiscard]] SweepPlan share_plan(ControlPlane& control, const SweepSpec& spec,
                                   const Availability& availability,
                                   const Implementations& implementations,
                                   const std::string& environment_digest,
                                   const Findings& findings = {});

/// The plan as text for a person (`--dry-run`): worlds, cells with their variants, and what is
/// skipped with the reason.
[[nodiscard]] std::string render_plan(const SweepPlan& plan);

}  // namespace colltune
