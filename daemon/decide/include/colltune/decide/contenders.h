// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <span>

#include "colltune/decide/trials.h"

namespace colltune {

/// How much slower than the fastest of its family a variant may have been in its best pass: the
/// states of a machine change the ratio of two variants by that much. (Two cores of a virtual
/// machine hand a cache line over three times as fast where the hypervisor has put them side by
/// side.)
inline constexpr double contender_factor = 3.0;
/// So many of each family, besides baselines and twins: each is prepared and verified in every
/// visit. Not fewer: with 12, a variant that led by far in another state of the machine (8 times as
/// fast as the baseline, the others 6 times) was left out where the first pass met a state in which
/// a dozen of its kin were faster. Who is slow leaves a visit after three rounds anyway.
inline constexpr std::size_t most_contenders = 24;

/// Who takes part in the next pass, by what all passes so far say about one key. Pure; the order of
/// the measurements does not matter.
///
/// - Who was not ok in some pass: never.
/// - Baselines and twins: always.
/// - Of each family up to `most_contenders` variants that were, in some pass, at most
///   `contender_factor` times as slow as the family's fastest: by the median of the ratios in the
///   rounds that both ran, the fastest being who ran as many rounds of the pass as any and has the
///   least median. The family, since each one gets a decision of its own. The best by their best
///   pass go on, at equal ratios by name. Where they have no round in common in which both count,
///   the medians of all samples stand for it: void runs say little, but who is ten times as slow in
///   them is not fast.
[[nodiscard]] std::set<TrialName> contenders_of(std::span<const Measurement> of_key);

}  // namespace colltune
