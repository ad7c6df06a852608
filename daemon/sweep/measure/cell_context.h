// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cell_data.h"
#include "colltune/flight/flight_recorder.h"
#include "colltune/sweep/measure/measure.h"
#include "trial.h"
#include "world.h"

namespace colltune {

/// Preparing and destroying may register memory and set up connections: a minute where calls get
/// the ten seconds that are the default, less where the user expects less.
constexpr int preparation_limits = 6;

/// What a visit to a cell is given.
struct VisitSetting {
  ControlPlane& control;
  const SweepPlan& plan;
  const MeasurePolicy& policy;
  PhaseTimes& phases;
  const Implementations& implementations;
  FlightRecorder* recorder = nullptr;
  std::int64_t index = -1;  ///< of the cell, for the flight recorder
  int pass = 0;
  std::span<const Measurement> earlier = {};  ///< rank 0: of the cell, by earlier visits
  /// Variants of the cell that were soaked in this launch; null: nothing is soaked.
  std::set<std::string>* soaked = nullptr;
};

/// What the steps of one visit share on this rank, besides what it was given.
struct CellContext : VisitSetting {
  std::uint64_t seed = 1;  ///< of the order of the rounds
  const Cell& cell;
  World& world;
  std::string key_digest;
  std::vector<Trial> trials;
  /// By where the buffers come from; null: from anywhere. Empty on ranks beyond the world.
  std::map<BufferSource*, CellData> data;
  int calls_per_sample = 1;
  StartPolicy start;  ///< of timed runs
  int renewals = 0;   ///< in this visit (preparation.h); the same on all ranks

  /// Trials that have not ended; of these, those that still run in the rounds.
  [[nodiscard]] std::vector<Trial*> alive();
  [[nodiscard]] std::vector<Trial*> racing();
  /// Of a single call.
  [[nodiscard]] RunLimits limits_of(const Trial& trial) const;
  /// The trial as it stands on rank 0.
  [[nodiscard]] Measurement measurement_of(const Trial& trial) const;

  /// Positions for the flight recorder: a step on a trial, a run with the limits, the control
  /// plane.
  void enter(std::string_view phase, const Trial& trial, std::chrono::nanoseconds limit) const;
  void enter_run(std::string_view phase, const Trial& trial, const RunLimits& limits) const;
  void enter_control() const;
  /// That a member may wait for the others there: longer than any step that they come from.
  [[nodiscard]] std::chrono::nanoseconds control_limit() const;
  void enter_preparation(const Trial& trial) const;

  /// Collective over the launch: ends the trials that have a fault on any rank, and destroys their
  /// operations. Returns whether any ended or was lost.
  bool vote_on(std::span<Trial* const> trials);
  void bury(std::span<Trial* const> trials);

  /// After a verified run: compares, and says which run of the variant it was.
  [[nodiscard]] std::optional<Fault> inspect_run(const Trial& trial, const CellData::Check& check);
};

}  // namespace colltune
