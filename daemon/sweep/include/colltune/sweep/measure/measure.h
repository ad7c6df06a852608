// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "colltune/machine/abort_flag.h"
#include "colltune/sweep/control/control_plane.h"
#include "colltune/sweep/plan/sweep_plan.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

class FlightRecorder;
struct CompatTime;
enum class CompatTool;

/// What a rank's wall time goes into. Printed by name.
enum class Phase {
  batch = 0,         ///< timed batch loops: rewriting of inputs, barrier, clock reads, the calls
  warm_up = 1,       ///< untimed calls before the first round
  verification = 2,  ///< verified calls and the comparison of their results
  preparation = 3,   ///< communicators, buffers, prepare and destruction of operations
  control = 4,       ///< waiting for the control plane
  journal = 5,       ///< storing what was measured
};
constexpr std::array<Named<Phase>, 6> enum_names(Phase) {
  return {{{Phase::batch, "batch"},
           {Phase::warm_up, "warm_up"},
           {Phase::verification, "verification"},
           {Phase::preparation, "preparation"},
           {Phase::control, "control"},
           {Phase::journal, "journal"}}};
}
constexpr std::string_view enum_title(Phase) { return "phase"; }

/// Wall time of this rank by phase.
struct PhaseTimes {
  std::array<std::chrono::nanoseconds, 6> times{};  ///< indexed by Phase

  [[nodiscard]] std::chrono::nanoseconds& operator[](Phase phase) {
    return times[static_cast<std::size_t>(phase)];
  }
  [[nodiscard]] std::chrono::nanoseconds operator[](Phase phase) const {
    return times[static_cast<std::size_t>(phase)];
  }
  [[nodiscard]] std::chrono::nanoseconds total() const;
};

/// How a cell is measured. The defaults are those of `colltune-agent`.
struct MeasurePolicy {
  int warm_up_runs = 3;            ///< of each variant
  int min_rounds = 12;             ///< enough for the sign test over a few dozen variants
  int max_rounds = 1000;           ///< of a first visit; further ones share as many
  int max_samples_per_round = 32;  ///< of each variant
  int max_calls_per_sample = 16;
  /// Rounds shorter than this would be spent on the control plane.
  std::chrono::nanoseconds round_target = std::chrono::milliseconds(10);
  double confidence = 0.95;  ///< of the interval that `precision` bounds
  /// Spin windows around each run that look for what something else takes from the rank. Small
  /// beside the rest of a run (a barrier and two system calls take as long).
  std::chrono::nanoseconds watch = std::chrono::microseconds(2);
  /// Runs of a variant that the warm-up shows to be hopeless: enough to say how slow it is.
  int hopeless_samples = 3;
  /// No call counts as timed out earlier than this; barriers wait three times as long as the call.
  std::chrono::nanoseconds call_limit_floor = std::chrono::seconds(10);
};

/// One visit of a sweep to a cell.
struct Visit {
  std::size_t cell = 0;  ///< index in the plan
  int pass = 0;          ///< which visit to the cell this is, from 0
  /// Who takes part: indices into the cell's variants, ascending; empty: all.
  std::vector<std::size_t> variants;
  std::chrono::nanoseconds share{};  ///< of the budget; 0: no bound

  friend bool operator==(const Visit&, const Visit&) = default;
};
template <class Self, class Visitor>
requires std::same_as<std::remove_const_t<Self>, Visit>
constexpr void visit_fields(Self& self, Visitor&& visit) {
  visit("cell", self.cell);
  visit("pass", self.pass);
  visit("variants", self.variants);
  visit("share_ns", self.share);
}

/// Measures the cells of a plan on the ranks of a launch. Every rank of the launch makes the same
/// calls in the same order, also where it is not part of a cell's world. Not thread-safe.
class Measurer {
 public:
  /// What it works with; all of it outlives the measurer.
  struct Tools {
    ControlPlane& control;
    Communicator& launch;
    const Implementations& implementations;
    const SweepPlan& plan;
    /// Where this rank writes its position; null: nowhere.
    FlightRecorder* recorder = nullptr;
  };
  Measurer(const Tools& tools, const MeasurePolicy& policy);
  ~Measurer();
  Measurer(const Measurer&) = delete;
  Measurer& operator=(const Measurer&) = delete;

  /// Collective: the trials of one visit, with the raw samples on rank 0 (empty elsewhere). Ends
  /// when every rival's interval is narrow enough, or the visit's share of the budget is spent, or
  /// rank 0's `stop` is raised (after which the rounds so far count). Whoever wins by this visit
  /// and by what `earlier` visits to the cell measured (rank 0's; empty elsewhere) is soaked,
  /// unless this measurer did so before. Faults of a variant become its outcome; throws only where
  /// the ranks lost each other or memory is lacking.
  [[nodiscard]] std::vector<Measurement> measure(const Visit& visit,
                                                 std::span<const Measurement> earlier,
                                                 const AbortFlag& stop);

  /// Collective: the same cell in another benchmark's loop (compat.h); the times on rank 0.
  [[nodiscard]] std::vector<CompatTime> measure_like(CompatTool tool, const Cell& cell);
  /// Collective: whether rank 0's flag is raised.
  [[nodiscard]] bool is_stopped(const AbortFlag& stop);

  [[nodiscard]] PhaseTimes& phases();
  /// What the last visit took besides its rounds and soaks: the least that it can cost.
  [[nodiscard]] std::chrono::nanoseconds fixed_cost() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// What the plan takes at the least: every round that must be, with calls as fast as fast links
/// allow. What is above that follows from how the machine behaves; a budget bounds it.
[[nodiscard]] std::chrono::nanoseconds least_duration(const SweepPlan& plan,
                                                      const MeasurePolicy& policy);

/// The longest that ranks with nothing to do may wait for the next step of the control plane: its
/// time-out must be longer.
[[nodiscard]] std::chrono::nanoseconds longest_step(const SweepPlan& plan,
                                                    const MeasurePolicy& policy);

}  // namespace colltune
