// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "colltune/sweep/plan/sweep_plan.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// A variant is pruned if the whole interval of its prediction lies above this many times the
/// prediction of a rival.
inline constexpr double hopeless_factor = 3;
/// One in so many of the pruned variants is measured all the same, and at least one.
inline constexpr std::size_t audited_one_in = 20;

/// Puts the variants with a forecast in the order of their predicted times, behind the baselines.
/// Those without one come last, in their order.
void order_by_forecast(std::vector<PlannedVariant>& variants);

/// The indices of the variants whose interval lies wholly above `hopeless_factor` times the upper
/// end of a rival's, ascending. Rivals are of the same family and numeric class, since callers may
/// ask for either: so the best of each stays. Baselines, twins and variants without a forecast
/// stay.
[[nodiscard]] std::vector<std::size_t> hopeless_variants(const Cell& cell);

/// Takes the hopeless variants out of the plan's cells, but for the audited ones, and lists them as
/// skipped. The audit is drawn by the plan's seed, the key and the variant alone, so that it is the
/// same in every plan with these. Held-out cells keep all: they say what else pruning loses.
void prune(SweepPlan& plan);

/// A pruned variant that was measured all the same, and would have won.
struct WronglyPruned {
  TuningKey key;
  Variant variant;
  std::string family;  ///< in which it won; any_family: over all
};

/// What the audit of a plan's pruning says after the sweep.
struct PruningAudit {
  std::uint64_t pruned = 0;    ///< variants of keys, the audited ones included
  std::uint64_t audited = 0;   ///< of these: were to be measured
  std::uint64_t measured = 0;  ///< of these: have been, and were right
  std::vector<WronglyPruned> wins;
};

/// `measurements` and `decisions` are those of the sweep of `plan`.
[[nodiscard]] PruningAudit audit_pruning(const SweepPlan& plan,
                                         std::span<const Measurement> measurements,
                                         std::span<const Decision> decisions);

/// For a person, a line, or several where the audit found winners; empty if nothing was pruned.
[[nodiscard]] std::string describe(const PruningAudit& audit);

}  // namespace colltune
