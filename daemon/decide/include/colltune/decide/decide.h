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

/// Ranks the variants of each key and judges the baseline: once for all families together and once
/// for each family that has a variant that may rank. Pure; replayable with another policy. The
/// order of `measurements` does not matter. Decisions come ordered by key, `any_family` first.
/// Throws Error(invalid_argument) where a trial occurs twice in a pass.
///
/// - Only variants with outcome `ok` in all passes, samples and verified calls rank; twins and
///   held-out sizes never do. Samples with a RunMark do not count. Where no sample of a variant
///   counts, its median is that of all, and it proves nothing.
/// - The unit is the round (round_medians). A speed-up is the median over the common rounds of
///   baseline / variant in the same round, of several passes what those of each come to
///   (ratio_over_passes); `speedup_over_baseline` and the order refer to it.
/// - Who missed a pass that others ran in was no contender and cannot win. Of several passes a
///   variant's speed-up is that of the fastest one times its own over that one in the rounds of
///   both, where they have any; the fastest is who no other beats so, of those with rounds in
///   common with the baseline in the most passes.
/// - Each rival is judged against the baseline by judge() (duel.h); the risk is divided by the
///   number of rivals of the key, and a gain must exceed what the baseline's twin shows.
/// - `displaced`: some rival is proven. The fastest of those wins, or the simplest of its equals:
///   those that it leads by less than the margin, or by less than twice the margin where that may
///   be noise. Simpler is, in this order: a baseline, a stronger numeric class, fewer roundings,
///   not emulated, no composition, fewer parameters, the name.
/// - `undecided`: none is proven, but some rival is open: at least as fast by the margin without
///   the proof (noise, twin, two modes), or with too few rounds to exclude it. The baseline stays.
/// - `kept`: no rival is faster by the margin.
/// - `no_baseline`: the family has none of its own: the fastest (the simplest of its equals) leads;
///   speed-ups refer to the key's baseline.
/// - Order: the winner, the others that are proven, of these who missed a pass last (it left the
/// race
///   to who was faster, but beat the baseline in all that it ran), the baseline, the rest; each by
///   speed-up.
[[nodiscard]] std::vector<Decision> decide(std::span<const Measurement> measurements,
                                           const DecisionPolicy& policy,
                                           const std::string& sweep_uuid);

/// The same with a policy for each key, all of which are there.
[[nodiscard]] std::vector<Decision> decide_by_key(
    std::span<const Measurement> measurements, const std::map<TuningKey, DecisionPolicy>& policies,
    const std::string& sweep_uuid);

/// How many of the decisions over all families came to which verdict; every verdict is there.
[[nodiscard]] std::map<Verdict, std::size_t> count_verdicts(std::span<const Decision> decisions);

}  // namespace colltune
