// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/decide/sweep_summary.h"
#include "colltune/sweep/measure/measure.h"
#include "colltune/sweep/plan/sweep_plan.h"

namespace colltune {

/// How far a sweep has come.
struct SweepProgress {
  int pass = 0;  ///< of the visit, from 0
  int passes = 1;
  std::size_t visits_done = 0;  ///< in all passes, including stored ones
  std::size_t visits = 0;       ///< total; fewer if no variant of some cell works
  std::chrono::nanoseconds elapsed{};
  std::chrono::nanoseconds left{};  ///< estimate; 0 before the first visit has ended
};

/// Where a sweep stores its measurements. Called on rank 0 alone; an exception from it ends the
/// sweep on all ranks.
class Journal {
 public:
  virtual ~Journal() = default;
  virtual void begin(const SweepPlan& plan) = 0;
  /// Stores the trials of one visit to a cell; they are durable when it returns.
  virtual void append(std::span<const Measurement> measurements) = 0;
};

/// Is told how the sweep proceeds. Called on rank 0 alone.
class SweepObserver {
 public:
  virtual ~SweepObserver() = default;
  virtual void begin_cell(const SweepProgress& progress, const Cell& cell) = 0;
  virtual void end_cell(const SweepProgress& progress, const Cell& cell,
                        std::span<const Measurement> measurements) = 0;
};

/// What a sweep works with. `control` and `launch` span the same ranks in the same order. Journal
/// and progress are used on rank 0 alone and may be null elsewhere.
struct SweepTools {
  ControlPlane& control;
  Communicator& launch;
  const Implementations& implementations;
  Journal* journal = nullptr;
  SweepObserver* progress = nullptr;
  /// Where this rank records its position; null: nowhere.
  FlightRecorder* recorder = nullptr;
  /// Rank 0: what this sweep measured before it was interrupted. Visits (key and pass) with stored
  /// measurements are done: they are not measured or journalled again, but they count in the
  /// outcome and in choosing contenders.
  std::span<const Measurement> stored = {};
  /// When the agent started, since the budget covers the whole agent. Empty: when run_sweep was
  /// called.
  std::optional<std::chrono::steady_clock::time_point> begin;
  const AbortFlag& stop;  ///< raised on rank 0 (by a signal) to end early with what is measured
};

/// The outcome of a sweep.
struct SweepOutcome {
  SweepEnd end = SweepEnd::complete;       ///< the same on all ranks
  std::vector<Measurement> measurements;   ///< rank 0 only: stored ones first, then as journalled
  std::map<Outcome, std::size_t> trials;   ///< rank 0 only: trials by outcome, over all passes
  ActivityTimes activities;                ///< this rank's
  std::chrono::nanoseconds elapsed{};      ///< this rank's, from call to return
  std::chrono::nanoseconds budget_left{};  ///< rank 0 only, if there is a budget
};

/// Makes every visit of `plan` that is not stored yet, and journals each; `Journal::begin` is
/// always called. Collective over all ranks of the launch. Throws on all ranks if the journal fails
/// on rank 0.
[[nodiscard]] SweepOutcome run_sweep(const SweepTools& tools, const SweepPlan& plan,
                                     const MeasurePolicy& policy);

}  // namespace colltune
