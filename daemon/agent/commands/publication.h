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
#include "colltune/sweep/plan/sweep_plan.h"
#include "colltune/sweep/ranks/availability.h"

namespace colltune {

/// Exit code of a sweep that measured only part of what was planned; the same command can continue.
inline constexpr int exit_incomplete = 6;

/// The evidence that `database` holds for the keys of `plan` from choosing sweeps of this
/// environment: the newest sweeps that measured any of them, oldest first, without `sweep_uuid` and
/// sweeps that still run. Leaves out trials in `quarantines`.
[[nodiscard]] std::vector<SweepEvidence> earlier_evidence(
    const std::filesystem::path& database, const std::string& environment_digest,
    const SweepPlan& plan, const std::string& sweep_uuid,
    std::span<const QuarantineRecord> quarantines);

/// What the newest complete choosing sweeps of this environment measured, for the plan's models. A
/// sweep that is continued plans as it did before: itself is not complete.
[[nodiscard]] std::vector<Measurement> measured_earlier(const std::filesystem::path& database,
                                                        const std::string& environment_digest);

/// What earlier sweeps of a database found that a plan depends on.
struct EarlierFindings {
  std::vector<Quarantined> quarantined;
  std::vector<Decision> decisions;  ///< published; none before the first publication
  std::vector<Measurement> measured;
};
/// Reads them without becoming the database's owner, so while another process sweeps as well.
/// Throws what StoreReader throws.
[[nodiscard]] EarlierFindings read_findings(const std::filesystem::path& database,
                                            const std::string& environment_digest);

[[nodiscard]] std::vector<Quarantined> quarantined_of(std::span<const QuarantineRecord> records);

/// Describes for a person what the publication changes: how many decisions were settled in which
/// way, and the reason for each that was replaced or kept.
[[nodiscard]] std::string describe_publication(std::span<const Settled> settled);

/// Throws Error(not_found), with the reasons, if the plan has no cell.
void refuse_empty(const SweepPlan& plan);

/// Throws Error(failed_precondition) if a size of the plan does not fit: the buffers of one node's
/// ranks alone take more than `available`. Buffers on devices are not counted.
void refuse_too_large(const SweepPlan& plan, const Availability& availability, Bytes available);

/// The same for a program's calls, of which one that does not fit says nothing against the others:
/// such cells become skipped problems of the plan. Returns a line for a person: which they are,
/// their share of the time of all calls in the plan, what they need and what is available; empty if
/// all fit. Pure: all ranks that have the same plan leave out the same.
[[nodiscard]] std::string leave_out_too_large(SweepPlan& plan, const Availability& availability,
                                              Bytes available);

/// What refuse_too_large says of the plan; empty where it does not throw.
[[nodiscard]] std::string why_not_in_memory(const SweepPlan& plan, const Availability& availability,
                                            Bytes available);

/// What a sweep did not reach.
struct Missing {
  std::vector<std::string> unmeasured;  ///< keys without a measurement, for a person
  /// Keys for which no variant ended well, each with the outcome of one variant.
  std::vector<std::string> failed;
  std::size_t planned = 0;
};
[[nodiscard]] Missing missing_of(const SweepPlan& plan, std::span<const Measurement> measurements,
                                 std::span<const Decision> decisions);
/// Describes what is missing, why, and how to continue; empty if nothing is.
[[nodiscard]] std::string describe_missing(const Missing& missing, const SweepPlan& plan,
                                           SweepEnd end);
/// The exit code of a sweep: 3 if nothing was decided; 6 if keys were not measured; 1 if a variant
/// was wrong or failed, or all variants of a key did; otherwise 0.
[[nodiscard]] int exit_code_of(const Missing& missing, bool has_fault);

}  // namespace colltune
