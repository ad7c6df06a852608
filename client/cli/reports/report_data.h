// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "colltune/db/store.h"
#include "colltune/decide/decision_policy.h"
#include "colltune/decide/sweep_summary.h"
#include "colltune/vocabulary/lookup.h"

namespace colltune {

/// One sweep as reports see it.
struct ReportedSweep {
  SweepRecord record;
  SweepSummary summary;   ///< empty if the sweep did not end
  DecisionPolicy policy;  ///< that it decided by; the default if unknown
  std::vector<Measurement> measurements;
  /// The published decisions if this sweep decided what the newest generation holds; otherwise they
  /// are decided again from the measurements. Without quarantined variants. Ordered by key, then
  /// family.
  std::vector<Decision> decisions;
  std::vector<WorldMembers> members;      ///< of its worlds, if known
  std::vector<Composition> compositions;  ///< all of the database
};

/// The sweep whose UUID is, or starts with, `uuid`. Throws Error(not_found) if there is none,
/// Error(invalid_argument) if there are several.
[[nodiscard]] SweepRecord named_sweep(const StoreReader& reader, const std::string& database,
                                      const std::string& uuid);

/// The launch that chose or confirmed under `uuid`; if `uuid` is empty, the newest sweep that
/// chose. Throws Error(not_found) if there is none, Error(failed_precondition) for a launch that
/// only confirms.
[[nodiscard]] SweepRecord find_sweep(const StoreReader& reader, const std::string& database,
                                     const std::string& uuid);

[[nodiscard]] ReportedSweep read_sweep(const StoreReader& reader, const SweepRecord& record);

/// The question of a rank of the sweep's world for this key.
[[nodiscard]] LookupQuery query_for(const ReportedSweep& sweep, const TuningKey& key);

}  // namespace colltune
