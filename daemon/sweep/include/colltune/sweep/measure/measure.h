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

/// What a rank's wall time is spent on. Printed by name.
enum class Activity {
  batch = 0,         ///< timed batch loops: rewriting of inputs, barrier, clock reads, the calls
  warm_up = 1,       ///< untimed calls before the first round
  verification = 2,  ///< verified calls and the comparison of their results
  preparation = 3,   ///< communicators, buffers, prepare and destruction of operations
  control = 4,       ///< waiting for the control plane
  journal = 5,       ///< storing what was measured
};
constexpr std::array<Named<Activity>, 6> enum_names(Activity) {
  return {{{Activity::batch, "batch"},
           {Activity::warm_up, "warm_up"},
           {Activity::verification, "verification"},
           {Activity::preparation, "preparation"},
           {Activity::control, "control"},
           {Activity::journal, "journal"}}};
}
constexpr std::string_view enum_title(Activity) { return "activity"; }

/// Wall time of this rank by activity.
struct ActivityTimes {
  std::array<std::chrono::nanoseconds, 6> times{};  ///< indexed by Activity

  [[nodiscard]] std::chrono::nanoseconds& operator[](Activity activity) {
    return times[static_cast<std::size_t>(activity)];
  }
  [[nodiscard]] std::chrono::nanoseconds operator[](Activity activity) const {
    return times[static_cast<std::size_t>(activity)];
  }
  [[nodiscard]] std::chrono::nanoseconds total() const;
};

/// How a cell is measured. The defaults are those of `colltune-agent`.
struct MeasurePolicy {
  int warm_up_runs = 3;            ///< of each variant
  int min_rounds = 12;             ///< enough for a sign test over a few dozen variants
  int max_rounds = 1000;           ///< of a first visit; later visits share this many
  int max_samples_per_round = 32;  ///< of each variant
  int max_calls_per_sample = 16;
  /// Shorter rounds would spend most of their time on the control plane.
  std::chrono::nanoseconds round_target = std::chrono::milliseconds(10);
  double confidence = 0.95;  ///< of the interval that `precision` bounds
  /// Length of the spin windows around each run, which look for time that something else takes from
  /// the rank. Short beside the rest of a run (a barrier and two system calls take as long).
  std::chrono::nanoseconds watch = std::chrono::microseconds(2);
  /// Runs of a variant that the warm-up showed to be hopeless: enough to say how slow it is.
  int hopeless_samples = 3;
  /// Lower bound on the time after which a call counts as timed out; barriers wait three times as
  /// long as the call.
  std::chrono::nanoseconds call_limit_floor = std::chrono::seconds(10);
};

/// One visit of a sweep to a cell.
struct Visit {
  std::size_t cell = 0;  ///< index in the plan
  int pass = 0;          ///< counts visits to the cell, from 0
  /// Variants that take part: indices into the cell's variants, ascending; empty: all.
  std::vector<std::size_t> variants;
  std::chrono::nanoseconds allotment{};  ///< of the budget; 0: unlimited

  friend bool operator==(const Visit&, const Visit&) = default;
};
template <class Self, class Visitor>
requires std::same_as<std::remove_const_t<Self>, Visit>
constexpr void visit_fields(Self& self, Visitor&& visit) {
  visit("cell", self.cell);
  visit("pass", self.pass);
  visit("variants", self.variants);
  visit("share_ns", self.allotment);
}

/// Pairs of a send and a receive buffer that the calls of a cell take in turns, at least.
[[nodiscard]] constexpr std::size_t fewest_buffer_pairs(Calling calling) {
  return calling == Calling::each ? 3 : 1;
}

/// The untimed runs before each variant's samples of a round, with which it takes the buffers over
/// from the variant before it; `call` is the time of the baseline's call. After a rival's run a
/// call finds its buffers, and the memory that it keeps, farther away than in a program, which runs
/// one variant again and again: with 40 rivals in turns Open MPI's all_gather of 2 MiB took 1.6
/// times as long as alone. Six runs undid that, three did not.
[[nodiscard]] int takeover_runs(const TuningKey& key, InputMode mode,
                                std::chrono::nanoseconds call);

/// Measures the cells of a plan on the ranks of a launch. Every rank of the launch makes the same
/// calls in the same order, even for a cell whose world it is not part of. Not thread-safe.
class Measurer {
 public:
  /// What a measurer works with; all of it must outlive the measurer.
  struct Tools {
    ControlPlane& control;
    Communicator& launch;
    const Implementations& implementations;
    const SweepPlan& plan;
    /// Where this rank records its position; null: nowhere.
    FlightRecorder* recorder = nullptr;
  };
  Measurer(const Tools& tools, const MeasurePolicy& policy);
  ~Measurer();
  Measurer(const Measurer&) = delete;
  Measurer& operator=(const Measurer&) = delete;

  /// Collective: measures the trials of one visit; rank 0 gets them with the raw samples, other
  /// ranks get nothing. The visit ends when every rival's interval is narrow enough, the visit's
  /// allotment of the budget is spent, or rank 0's `stop` is raised (the rounds so far count).
  /// Variants that win by this visit together with the `earlier` visits to the cell (rank 0's;
  /// empty elsewhere) are soaked, unless this measurer has already soaked them. A fault of a
  /// variant becomes its outcome; this throws only if ranks lost each other or memory ran out.
  [[nodiscard]] std::vector<Measurement> measure(const Visit& visit,
                                                 std::span<const Measurement> earlier,
                                                 const AbortFlag& stop);

  /// Collective: measures the same cell in another benchmark's loop (compat.h); rank 0 gets the
  /// times.
  [[nodiscard]] std::vector<CompatTime> measure_like(CompatTool tool, const Cell& cell);
  /// Collective: whether rank 0's flag is raised.
  [[nodiscard]] bool is_stopped(const AbortFlag& stop);

  [[nodiscard]] ActivityTimes& activities();
  /// What the last visit took in addition to its rounds and soaks: the least that it can cost.
  [[nodiscard]] std::chrono::nanoseconds fixed_cost() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The least time that the plan takes: every mandatory round, with calls as fast as their forecasts
/// allow, or, without one, as on fast links.
/// Any time beyond this depends on how the machine behaves; a budget bounds it.
[[nodiscard]] std::chrono::nanoseconds least_duration(const SweepPlan& plan,
                                                      const MeasurePolicy& policy);

/// The longest that idle ranks may wait for the next step of the control plane; the plane's
/// time-out must be longer.
[[nodiscard]] std::chrono::nanoseconds longest_step(const SweepPlan& plan,
                                                    const MeasurePolicy& policy);

}  // namespace colltune
