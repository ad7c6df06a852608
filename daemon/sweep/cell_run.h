// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cell_data.h"
#include "colltune/sweep/flight_recorder.h"
#include "colltune/sweep/measure.h"
#include "trial.h"

namespace colltune {

/// The ranks of one world on this rank; the communicators are null on ranks beyond it.
///
/// The ranks start each run on a communicator that no implementation ever sees, so that a variant
/// which leaves its own out of step cannot take the others with it.
struct World {
  std::function<std::unique_ptr<Communicator>()> split;  ///< collective over the launch
  std::unique_ptr<Communicator> starts;
  std::unique_ptr<Communicator> operations;
  /// Left out of step by a variant; kept while operations prepared on them live.
  std::vector<std::unique_ptr<Communicator>> retired;
  bool is_suspect = false;  ///< a variant failed on `operations` after it was prepared
  BufferArena arena;

  [[nodiscard]] bool is_member() const { return starts != nullptr; }
  /// Replaces `operations`. Collective over the launch.
  void renew_operations();
};

/// One cell while it is measured. Its steps are collective over the launch, in the order in which
/// they are declared; ranks beyond the world take part in the votes alone.
class CellRun {
 public:
  struct Setting {
    ControlPlane& control;
    const SweepPlan& plan;
    const MeasurePolicy& policy;
    PhaseTimes& phases;
    FlightRecorder* recorder = nullptr;
    std::int64_t cell = -1;  ///< index in the plan
  };
  CellRun(const Setting& setting, const Cell& cell, World& world);

  /// Buffers for this cell (regions for the largest message of the world) and every operation.
  void prepare(const Implementations& implementations, Bytes largest_message);
  /// One verified call of each variant and pattern.
  void verify_first();
  /// Untimed runs; rank 0 derives from them how long rounds and samples are.
  void warm_up(std::chrono::nanoseconds time_left);
  /// Rounds of interleaved batches until rank 0 has seen enough.
  void measure(std::chrono::steady_clock::time_point end_at, bool has_end, const AbortFlag& stop);
  /// One more verified call of each variant, on other data.
  void verify_last();
  /// Verified runs of every variant that would win, until all that win have had them.
  void soak(const AbortFlag& stop);
  /// The trials' measurements on rank 0, empty elsewhere. Destroys the operations.
  [[nodiscard]] std::vector<Measurement> finish();

 private:
  [[nodiscard]] std::vector<Trial*> alive();
  [[nodiscard]] RunLimits limits_of(const Trial& trial) const;
  [[nodiscard]] std::chrono::nanoseconds preparation_limit() const;
  void make_data(Bytes largest_message);
  void prepare_trial(Trial& trial);
  void enter(std::string_view phase, const Trial& trial, std::chrono::nanoseconds limit) const;
  void enter_control() const;
  void verify(Trial& trial, const CellData::Check& check);
  /// `inspected`: the number of the run whose result is compared after the clock reads; -1: none.
  struct Batch {
    std::string_view phase;
    int runs = 0;
    int inspected = -1;
    std::span<std::int64_t> packed;  ///< one for each run
  };
  void run_batch(Trial& trial, const Batch& batch);
  [[nodiscard]] std::optional<Fault> inspect_run(const Trial& trial, const CellData::Check& check);
  /// Returns whether rank 0 has seen enough.
  [[nodiscard]] bool run_round(int round, const std::function<bool()>& is_enough);
  void take_samples(const std::vector<Trial*>& trials, std::span<const std::int64_t> packed);
  [[nodiscard]] bool may_inspect_timed_runs() const;
  void vote_on(std::span<Trial* const> trials);
  /// Destroys the operations of trials that ended.
  void bury(std::span<Trial* const> trials);
  void soak_trial(Trial& trial, const AbortFlag& stop);
  [[nodiscard]] std::vector<std::size_t> unsoaked_winners() const;
  [[nodiscard]] Measurement measurement_of(const Trial& trial) const;
  [[nodiscard]] bool is_precise() const;

  Setting setting_;
  const Cell& cell_;
  World& world_;
  std::optional<CellData> data_;  ///< empty on ranks beyond the world
  std::vector<Trial> trials_;
  int calls_per_sample_ = 1;
  int samples_per_round_ = 1;
  std::string key_digest_;
  int rounds_ = 0;
};

}  // namespace colltune
