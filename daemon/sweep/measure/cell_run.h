// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cell_context.h"
#include "colltune/sweep/clock/perturbation.h"
#include "rounds.h"

namespace colltune {

/// One cell while it is measured. Its steps are collective over the launch, in the order of their
/// declarations; ranks beyond the world take part in the votes alone.
class CellRun {
 public:
  CellRun(const VisitSetting& setting, const Cell& cell, World& world);

  /// Sets up buffers for this cell, in regions of `region` bytes, and every operation.
  void prepare(Bytes region);
  /// Makes one verified call of each variant with each pattern.
  void verify_first();
  /// Makes untimed runs, from which rank 0 derives how long rounds and samples are.
  void warm_up(std::chrono::nanoseconds time_left);
  /// Runs rounds of interleaved batches until rank 0 has seen enough.
  void measure(const RoundsEnd& end);
  /// Makes one more verified call of each variant, on other data; then rank 0 notes what libraries
  /// chose.
  void verify_last();
  /// Makes verified runs of every variant that would win by all visits so far and has not had them,
  /// until every winner has. Each variant takes no longer than `most` (0: as long as the plan
  /// says).
  void soak(std::chrono::nanoseconds most, const AbortFlag& stop);
  /// The trials' measurements on rank 0; empty elsewhere. Destroys the operations.
  [[nodiscard]] std::vector<Measurement> finish();

  [[nodiscard]] CellContext& context() { return context_; }

 private:
  void make_data(Trial& trial, Bytes region);
  [[nodiscard]] BufferArena::Regions regions_for(BufferSource* source, Bytes region);
  void verify(Trial& trial, const CellData::Check& check);
  void verify_all(const CellData::Check& check);
  void bound_drift();
  void share_conditions();

  CellContext context_;
  Rounds rounds_;
  CoreState core_;  ///< state when the cell began
};

}  // namespace colltune
