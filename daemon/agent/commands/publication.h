// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/db/records.h"
#include "colltune/decide/settle.h"
#include "colltune/sweep/passes/sweep.h"
#include "colltune/sweep/ranks/availability.h"

namespace colltune {

/// A sweep that measured, but not all that was planned: the same command can go on.
inline constexpr int exit_incomplete = 6;

/// How the inputs of a stored sweep were, as its configuration says.
[[nodiscard]] InputMode input_mode_of(const SweepRecord& sweep);

/// What `database` holds of sweeps of this environment that chose, and whose inputs were in
/// `input_mode`: the newest ones, oldest first, without `sweep_uuid` and those that still run.
/// Without `quarantines`.
[[nodiscard]] std::vector<SweepEvidence> earlier_evidence(
    const std::filesystem::path& database, const std::string& environment_digest,
    InputMode input_mode, const std::string& sweep_uuid,
    std::span<const QuarantineRecord> quarantines);

/// Throws Error(failed_precondition) where some decision that is published for a key of `plan` was
/// measured with inputs in another mode: a key has one decision, and one would silently replace the
/// other.
void refuse_other_input(const SweepPlan& plan, std::span<const Decision> published,
                        std::span<const SweepRecord> sweeps, const std::filesystem::path& database);

/// What publishing changes, for a person: how many were settled how, and each that was replaced or
/// kept with the reason.
[[nodiscard]] std::string describe_publication(std::span<const Settled> settled);

/// Throws Error(not_found) with the reasons where a plan has no cell.
void refuse_empty(const SweepPlan& plan);

/// Throws Error(failed_precondition) where a size of the plan does not fit: the buffers of the
/// ranks of one node alone take more than `available`. Buffers on devices are not counted.
void refuse_too_large(const SweepPlan& plan, const Availability& availability, Bytes available);

/// What a sweep did not come to.
struct Missing {
  std::vector<std::string> unmeasured;  ///< keys without a measurement, for a person
  /// Keys of which no variant ended well, each with what happened to one of them.
  std::vector<std::string> failed;
  std::size_t planned = 0;
};
[[nodiscard]] Missing missing_of(const SweepPlan& plan, std::span<const Measurement> measurements,
                                 std::span<const Decision> decisions);
/// What is missing, why, and how to go on; empty where nothing is.
[[nodiscard]] std::string describe_missing(const Missing& missing, const SweepPlan& plan,
                                           SweepEnd end);
/// The exit code of a sweep: 3 nothing was decided, 6 keys were not measured, 1 a variant was wrong
/// or failed, or all of a key's did, else 0.
[[nodiscard]] int exit_code_of(const Missing& missing, bool has_fault);

}  // namespace colltune
