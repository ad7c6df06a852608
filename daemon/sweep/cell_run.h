// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "cell_data.h"
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
  /// The trials' measurements on rank 0, empty elsewhere. Destroys the operations.
  [[nodiscard]] std::vector<Measurement> finish();

 private:
  [[nodiscard]] std::vector<Trial*> alive();
  [[nodiscard]] RunLimits limits_of(const Trial& trial) const;
  void make_data(Bytes largest_message);
  void prepare_trial(Trial& trial);
  void verify(Trial& trial, const CellData::Check& check);
  void run_batch(Trial& trial, int runs, std::vector<std::int64_t>& packed, std::size_t first);
  void run_round(int round);
  void take_samples(const std::vector<Trial*>& trials, const std::vector<std::int64_t>& packed,
                    std::span<const std::int64_t> counts);
  void vote_on(std::span<Trial* const> trials);
  [[nodiscard]] bool is_precise() const;

  Setting setting_;
  const Cell& cell_;
  World& world_;
  std::optional<CellData> data_;  ///< empty on ranks beyond the world
  std::vector<Trial> trials_;
  int calls_per_sample_ = 1;
  int samples_per_round_ = 1;
  int rounds_ = 0;
  int next_check_ = 0;
};

}  // namespace colltune
