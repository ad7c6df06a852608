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
#include "colltune/sweep/control_plane.h"
#include "colltune/sweep/sweep_plan.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// What went wrong with a variant on this rank.
struct Fault {
  Outcome outcome = Outcome::failed;
  std::string message;
};

/// Runs `action` at the boundary where exceptions become values: a deadline is `timed_out`, all
/// else `failed`.
[[nodiscard]] std::optional<Fault> catch_fault(const std::function<void()>& action);

/// One variant of the cell that is being measured. `outcome` is the same on all ranks; what else
/// is gathered lies on rank 0 alone.
struct Trial {
  const PlannedVariant* planned = nullptr;
  const Implementation* implementation = nullptr;
  std::unique_ptr<Operation> operation;  ///< null on ranks beyond the world
  std::optional<Fault> fault;            ///< this rank's, until the next vote
  Outcome outcome = Outcome::ok;
  std::string detail;
  std::vector<std::chrono::nanoseconds> samples;
  std::vector<int> slowest_ranks;
  int ranks_ran = 0;
  int ranks_failed = 0;
  std::uint64_t verified_calls = 0;

  [[nodiscard]] bool is_alive() const { return outcome == Outcome::ok; }
};

/// Collective over the launch: where any rank has a fault, the trial ends with that outcome on all
/// ranks, its operation is destroyed, its times are dropped, and rank 0 learns which rank said
/// what. Where ranks differ, the cause counts more than the ranks that waited for it in vain.
void vote(ControlPlane& control, std::span<Trial* const> trials);

/// The most ranks that a sample's packed form has room for.
inline constexpr int packed_rank_bits = 20;

/// A duration and the rank that took it as one number whose MAX is the slowest rank's.
[[nodiscard]] std::int64_t pack_duration(std::chrono::nanoseconds duration, int rank);
[[nodiscard]] std::chrono::nanoseconds unpack_duration(std::int64_t packed);
[[nodiscard]] int unpack_rank(std::int64_t packed);

}  // namespace colltune
