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

/// Preparing and destroying may register memory and set up connections. They get this many times
/// the limit of a call: a minute for the default of ten seconds, less if the user expects less.
constexpr int preparation_limits = 6;

/// The inputs of a visit to a cell.
struct VisitSetting {
  ControlPlane& control;
  const SweepPlan& plan;
  const MeasurePolicy& policy;
  ActivityTimes& activities;
  const Implementations& implementations;
  FlightRecorder* recorder = nullptr;
  std::int64_t index = -1;  ///< the cell's, for the flight recorder
  int pass = 0;
  std::span<const Measurement> earlier = {};  ///< rank 0: earlier visits' measurements of the cell
  /// Variants of the cell that were soaked in this launch; null: no variant is soaked.
  std::set<std::string>* soaked = nullptr;
};

/// What the steps of one visit share on this rank, in addition to the visit's inputs.
struct CellContext : VisitSetting {
  std::uint64_t seed = 1;  ///< of the order of the rounds
  const Cell& cell;
  World& world;
  std::string key_digest;
  std::vector<Trial> trials;
  /// Data by the source of its buffers; null: any memory. Empty on ranks beyond the world.
  std::map<BufferSource*, CellData> data;
  int calls_per_sample = 1;
  StartPolicy start;  ///< of timed runs
  int renewals = 0;   ///< in this visit (preparation.h); the same on all ranks

  /// Trials that have not ended, and those of them that still run in the rounds.
  [[nodiscard]] std::vector<Trial*> alive();
  [[nodiscard]] std::vector<Trial*> racing();
  /// Limits of a single call.
  [[nodiscard]] RunLimits limits_of(const Trial& trial) const;
  /// The trial as it is now known on rank 0.
  [[nodiscard]] Measurement measurement_of(const Trial& trial) const;

  /// Record positions in the flight recorder: a step of a trial, a run with its limits, the control
  /// plane.
  void enter(std::string_view activity, const Trial& trial, std::chrono::nanoseconds limit) const;
  void enter_run(std::string_view activity, const Trial& trial, const RunLimits& limits) const;
  void enter_control() const;
  /// How long a member may wait for the others at the control plane: longer than any step that they
  /// come from.
  [[nodiscard]] std::chrono::nanoseconds control_limit() const;
  void enter_preparation(const Trial& trial) const;

  /// Collective over the launch: ends the trials that have a fault on any rank, and destroys their
  /// operations. Returns whether any trial ended or was lost.
  bool vote_on(std::span<Trial* const> trials);
  void bury(std::span<Trial* const> trials);

  /// Checks the result after a verified run; a fault says which run of the variant it was.
  [[nodiscard]] std::optional<Fault> inspect_run(const Trial& trial, const CellData::Check& check);
};

}  // namespace colltune
