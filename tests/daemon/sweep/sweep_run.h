// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A whole sweep on ranks that are threads, and what it told whom.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "colltune/flight/flight_recorder.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/sweep/passes/sweep.h"
#include "one_cell.h"

namespace colltune::fakes {

using namespace std::chrono_literals;

class MemoryJournal final : public Journal {
 public:
  void begin(const SweepPlan& plan) override { plans.push_back(plan); }
  void append(std::span<const Measurement> measurements) override {
    if (appended.size() == fail_at) throw Error(StatusCode::resource_exhausted, "disk full");
    appended.emplace_back(measurements.begin(), measurements.end());
  }

  std::vector<SweepPlan> plans;
  std::vector<std::vector<Measurement>> appended;
  std::size_t fail_at = SIZE_MAX;
};

class CountingProgress final : public SweepObserver {
 public:
  void begin_cell(const SweepProgress& progress, const Cell&) override {
    EXPECT_EQ(progress.visits_done, begun++);
    EXPECT_LT(progress.pass, progress.passes);
  }
  void end_cell(const SweepProgress& progress, const Cell&,
                std::span<const Measurement> measurements) override {
    EXPECT_EQ(progress.visits_done, ++ended);
    EXPECT_LE(progress.visits_done, progress.visits);
    EXPECT_FALSE(measurements.empty());
    EXPECT_GT(progress.elapsed, 0ns);
    if (at_end) at_end();
  }

  std::size_t begun = 0;
  std::size_t ended = 0;
  std::function<void()> at_end;
};

inline MeasurePolicy patient_policy() {
  MeasurePolicy policy = short_policy();
  policy.call_limit_floor = 20s;
  return policy;
}

struct SweepRun {
  struct alignas(64) Region {
    std::array<std::byte, flight_region_size> bytes;
  };
  std::vector<Region> board;  ///< empty: no rank records where it is
  std::vector<Measurement> stored;
  std::vector<Measurement> earlier;  ///< of other sweeps, for the plan's models
  MemoryJournal journal;
  CountingProgress progress;
  AbortFlag stop;
  MeasurePolicy policy = patient_policy();
  std::optional<std::chrono::steady_clock::time_point> begin;
  /// Makes a rank unlike the others; called on its thread.
  std::function<void(int rank, Capability& detected)> differ;
  SweepOutcome outcome;  ///< rank 0's
  std::vector<SweepEnd> ends;
  std::vector<std::string> errors;
};

/// A whole sweep on thread ranks: exchange, plan, measure, journal.
inline void sweep(SweepRun& run, int ranks, const Implementations& implementations,
                  const SweepSpec& spec, const std::vector<int>& node_of_rank = {},
                  std::span<Device* const> devices = {}) {
  run.ends.assign(static_cast<std::size_t>(ranks), SweepEnd::stopped);
  run.errors.assign(static_cast<std::size_t>(ranks), "");
  on_ranks(
      ranks, 60s,
      [&](ControlPlane& control, Communicator& launch) {
        const auto rank = static_cast<std::size_t>(control.rank());
        const bool is_first = rank == 0;
        std::optional<FlightRecorder> recorder;
        if (!run.board.empty()) recorder.emplace(run.board[rank].bytes, control.rank());
        try {
          const SweepSpec shared = share_sweep_spec(control, [&] { return spec; });
          Capability own = detect_capability(implementations, launch);
          if (run.differ) run.differ(control.rank(), own);
          const Availability availability = exchange_capabilities(control, launch, own);
          const SweepPlan plan =
              share_plan(control, shared, availability, implementations, "e",
                         {.measured = is_first ? std::span<const Measurement>(run.earlier)
                                               : std::span<const Measurement>()});
          SweepOutcome outcome =
              run_sweep({.control = control,
                         .launch = launch,
                         .implementations = implementations,
                         .journal = is_first ? &run.journal : nullptr,
                         .progress = is_first ? &run.progress : nullptr,
                         .recorder = recorder ? &*recorder : nullptr,
                         .stored = is_first ? std::span<const Measurement>(run.stored)
                                            : std::span<const Measurement>(),
                         .begin = run.begin,
                         .stop = run.stop},
                        plan, run.policy);
          run.ends[rank] = outcome.end;
          EXPECT_GT(outcome.elapsed, 0ns);
          EXPECT_LE(outcome.activities.total(), outcome.elapsed);
          if (is_first)
            run.outcome = std::move(outcome);
          else
            EXPECT_TRUE(outcome.measurements.empty());
        } catch (const Error& error) {
          run.errors[rank] = error.what();
        }
        control.barrier();
      },
      node_of_rank, devices);
}

}  // namespace colltune::fakes
