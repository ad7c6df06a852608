// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "colltune/decide/decision_policy.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// Ranks the variants of each key and judges the baseline: once over all families together, and
/// once for each family that has a variant which may rank. Pure, and replayable with another
/// policy. The order of `measurements` does not matter. Decisions come ordered by key, `any_family`
/// first. Throws Error(invalid_argument) if a trial occurs twice in a pass.
///
/// - Only variants with outcome `ok` in all passes, with samples and verified calls, rank. Twins
///   and held-out sizes never do. Samples with a RunMark do not count. If no sample of a variant
///   counts, its median is taken over all samples, and it proves nothing.
/// - The unit is the round (round_medians). A speed-up is the median over the common rounds of
///   baseline / variant in the same round; over several passes, those of each pass are combined
///   (ratio_over_passes). `speedup_over_baseline` and the order are based on it.
/// - A variant that missed a pass that others ran in was no contender and cannot win. Over several
///   passes, a variant's speed-up is the leader's speed-up times its own ratio to the leader in
///   their common rounds, if any. The leader is the variant that no other beats in this way, among
///   those with common rounds with the baseline in the most passes.
/// - judge() (duel.h) judges each rival against the baseline. The risk is divided by the number of
///   rivals of the key, and a gain must exceed what the baseline's twin shows.
/// - `displaced`: some rival is proven. The fastest proven one wins, or the simplest of its equals:
///   those that it leads by less than the margin, or by less than twice the margin if that may be
///   noise. Simpler means, in this order: a baseline, a stronger numeric class, fewer roundings,
///   not emulated, no composition, fewer parameters, the name.
/// - `undecided`: none is proven, but some rival is open: it is faster by the margin without the
///   proof (noise, twin, two modes), or has too few rounds to exclude that. The baseline stays.
/// - `kept`: no rival is faster by the margin.
/// - `no_baseline`: the family has no baseline of its own. The fastest variant (or the simplest of
///   its equals) leads; speed-ups are relative to the key's baseline.
/// - Order: the winner; the other proven rivals, with those that missed a pass last (they left the
///   race to faster ones, but beat the baseline in all that they ran); the baseline; the rest. Each
///   group is ordered by speed-up.
[[nodiscard]] std::vector<Decision> decide(std::span<const Measurement> measurements,
                                           const DecisionPolicy& policy,
                                           const std::string& sweep_uuid);

/// The same with a policy for each key; every key must have one.
[[nodiscard]] std::vector<Decision> decide_by_key(
    std::span<const Measurement> measurements, const std::map<TuningKey, DecisionPolicy>& policies,
    const std::string& sweep_uuid);

/// How many of the decisions over all families have each verdict; every verdict is listed.
[[nodiscard]] std::map<Verdict, std::size_t> count_verdicts(std::span<const Decision> decisions);

}  // namespace colltune
