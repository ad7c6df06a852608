// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "colltune/db/store.h"
#include "colltune/decide/decision_policy.h"
#include "colltune/decide/sweep_summary.h"

namespace colltune {

/// One sweep as reports see it.
struct ReportedSweep {
  SweepRecord record;
  SweepSummary summary;   ///< empty where the sweep did not end
  DecisionPolicy policy;   ///< that it decided by; the default where it does not say
  std::vector<Measurement> measurements;
  /// As published where this sweep decided what the newest generation holds; else decided again
  /// from the measurements. Without quarantined variants. Ordered by key, then family.
  std::vector<Decision> decisions;
  std::vector<WorldMembers> members;      ///< of its worlds, where it is known
  std::vector<Composition> compositions;  ///< all of the database
};

/// The sweep whose name is `uuid` or begins so. Throws Error(not_found) where there is none,
/// Error(invalid_argument) where there are several.
[[nodiscard]] SweepRecord named_sweep(const StoreReader& reader, const std::string& database,
                                      const std::string& uuid);

/// The launch that confirmed or chose under `uuid`; the newest sweep that chose where `uuid` is
/// empty. Throws Error(not_found) where there is none, Error(failed_precondition) for a launch that
/// only confirms.
[[nodiscard]] SweepRecord find_sweep(const StoreReader& reader, const std::string& database,
                                     const std::string& uuid);

[[nodiscard]] ReportedSweep read_sweep(const StoreReader& reader, const SweepRecord& record);

}  // namespace colltune
