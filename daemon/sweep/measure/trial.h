// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/kernels/implementation.h"
#include "colltune/sweep/clock/perturbation.h"
#include "colltune/sweep/control/control_plane.h"
#include "colltune/sweep/plan/sweep_plan.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// Why a variant cannot continue on this rank.
struct Fault {
  Outcome outcome = Outcome::failed;
  std::string message;
  /// True if the variant is not to blame: another one ended what it runs on. It continues once it
  /// is prepared anew.
  bool is_lost = false;
  /// True if the machine or the device has no more memory, which in a preparation is not the
  /// variant's fault alone: the cell's other variants are prepared at the same time.
  bool lacks_memory = false;
};

/// Runs `action` at the boundary where exceptions become values: a deadline gives `timed_out`,
/// something missing gives `unavailable`, something that another variant ended gives `is_lost`, and
/// anything else `failed`; with `lacks_memory` if that is the reason.
[[nodiscard]] std::optional<Fault> catch_fault(const std::function<void()>& action);

class CellData;

/// One variant of the cell that is being measured. `outcome` is the same on all ranks; the other
/// results are on rank 0 alone.
struct Trial {
  const PlannedVariant* planned = nullptr;
  std::string name;                      ///< of the variant, printed
  CellData* data = nullptr;              ///< its buffers; null on ranks beyond the world
  std::unique_ptr<Operation> operation;  ///< null on ranks beyond the world
  std::optional<Fault> fault;            ///< this rank's, until the next vote
  Outcome outcome = Outcome::ok;
  std::string detail;
  std::vector<std::chrono::nanoseconds> samples;
  std::vector<int> slowest_ranks;
  std::vector<int> marks;             ///< for each sample the sum of its RunMarks
  std::vector<double> round_medians;  ///< ns per call; NaN if no sample of the round counts
  int samples_per_round = 1;          ///< the same on all ranks
  int takeover_runs = 0;              ///< takeover_runs() before its samples of each round
  /// Wall time of this rank's cheapest run including everything around it; after the warm-up, the
  /// expected cost of a run.
  std::chrono::nanoseconds run_cost = std::chrono::nanoseconds::max();
  bool has_left = false;  ///< cannot win and gets no more rounds; the same on all ranks
  /// It ended in a way that left the world's ranks in step with each other; the same on all ranks.
  bool has_kept_step = false;
  /// It ended since a rank lacked memory; the same on all ranks.
  bool lacked_memory = false;
  Perturbation seen;  ///< what this rank saw
  /// How long this rank took, once in this launch, to make the communicators that the operation
  /// runs on.
  std::optional<std::chrono::nanoseconds> communicators;
  Conditions conditions;
  int ranks_ran = 0;
  int ranks_failed = 0;
  std::uint64_t verified_calls = 0;
  /// Some rank found it lost in the last vote; the same on all ranks.
  bool was_lost = false;
  int renewals = 0;       ///< how often it was prepared anew in this visit; the same on all ranks
  std::int64_t runs = 0;  ///< begun in this visit: verified, warm-up, timed and soak runs

  [[nodiscard]] bool is_alive() const { return outcome == Outcome::ok; }
};

/// What this rank reports about a trial: 0 if it has no fault. The MAX over the ranks is the cause.
[[nodiscard]] std::int64_t severity_of(const Trial& trial);

/// Ends a trial after all ranks have learned that it ends; its times are dropped.
void end_trial(Trial& trial, Outcome outcome);

/// Collective over the launch, with the MAX over the ranks of each trial's severity. If any rank
/// has a fault, the trial ends with that outcome on all ranks, its times are dropped, and rank 0
/// learns which rank reported what. If ranks differ, the cause outranks the ranks that waited for
/// it in vain. If a rank has lost the trial, it does not end but gets `was_lost`. Returns whether
/// any trial ended or was lost.
bool end_faulty_trials(ControlPlane& control, std::span<Trial* const> trials,
                       std::span<const std::int64_t> severities);

/// The same with its own reduction.
bool vote(ControlPlane& control, std::span<Trial* const> trials);

/// Bits for the rank in a packed sample, which bound the number of ranks.
inline constexpr int packed_rank_bits = 20;

/// Packs a duration and the rank that took it into one number, so that the MAX is the slowest
/// rank's.
[[nodiscard]] std::int64_t pack_duration(std::chrono::nanoseconds duration, int rank);
[[nodiscard]] std::chrono::nanoseconds unpack_duration(std::int64_t packed);
[[nodiscard]] int unpack_rank(std::int64_t packed);

}  // namespace colltune
