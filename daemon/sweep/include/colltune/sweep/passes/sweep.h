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

/// Where a sweep stands.
struct SweepProgress {
  int pass = 0;  ///< of the visit, from 0
  int passes = 1;
  std::size_t visits_done = 0;  ///< in all passes, those that were stored before too
  std::size_t visits = 0;       ///< of which some fall away where no variant of a cell works
  std::chrono::nanoseconds elapsed{};
  std::chrono::nanoseconds left{};  ///< estimate; 0 before the first visit is done
};

/// Where a sweep puts what it measured. Called on rank 0 alone; what it throws ends the sweep on
/// all ranks.
class Journal {
 public:
  virtual ~Journal() = default;
  virtual void begin(const SweepPlan& plan) = 0;
  /// The trials of one visit to a cell; durable when it returns.
  virtual void append(std::span<const Measurement> measurements) = 0;
};

/// Who is told how the sweep goes on. Called on rank 0 alone.
class SweepObserver {
 public:
  virtual ~SweepObserver() = default;
  virtual void begin_cell(const SweepProgress& progress, const Cell& cell) = 0;
  virtual void end_cell(const SweepProgress& progress, const Cell& cell,
                        std::span<const Measurement> measurements) = 0;
};

/// What a sweep works with. `control` and `launch` span the same ranks in the same order; journal
/// and progress are used on rank 0 alone and may be null elsewhere.
struct SweepTools {
  ControlPlane& control;
  Communicator& launch;
  const Implementations& implementations;
  Journal* journal = nullptr;
  SweepObserver* progress = nullptr;
  /// Where this rank writes its position; null: nowhere.
  FlightRecorder* recorder = nullptr;
  /// Rank 0: what this sweep measured before it was interrupted. Visits (key and pass) of which
  /// there is something are done: they are neither measured nor journalled again, but count in the
  /// outcome and in who goes on.
  std::span<const Measurement> stored = {};
  /// When the agent began: the budget is the agent's. Empty: when run_sweep was called.
  std::optional<std::chrono::steady_clock::time_point> begin;
  const AbortFlag& stop;  ///< raised on rank 0 (by a signal) to end early with what there is
};

/// What a sweep came to.
struct SweepOutcome {
  SweepEnd end = SweepEnd::complete;       ///< the same on all ranks
  std::vector<Measurement> measurements;   ///< rank 0 only: stored before, then as journalled
  std::map<Outcome, std::size_t> trials;   ///< rank 0 only: how many ended how, over all passes
  PhaseTimes phases;                       ///< this rank's
  std::chrono::nanoseconds elapsed{};      ///< this rank's, from call to return
  std::chrono::nanoseconds budget_left{};  ///< rank 0 only: where there is a budget
};

/// Makes every visit of `plan` that is not stored yet, journalling each; `Journal::begin` is
/// called in any case. Collective over all ranks of the launch. Throws on all ranks where the
/// journal fails on rank 0.
[[nodiscard]] SweepOutcome run_sweep(const SweepTools& tools, const SweepPlan& plan,
                                     const MeasurePolicy& policy);

}  // namespace colltune
