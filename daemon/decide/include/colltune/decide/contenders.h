// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <span>

#include "colltune/decide/trials.h"

namespace colltune {

/// How many times slower than the fastest of its family a contender may be, typically over `passes`
/// (at least 1): 7.4 after one pass, 2.7 after four, 1.6 after 16. Between passes the states of a
/// machine change the ratio of two variants by a factor of up to e^0.6 (standard deviation): two
/// cores of a virtual machine hand over a cache line three times as fast while the hypervisor has
/// placed them side by side. A mean over passes becomes more certain with their number. The limit
/// is three standard errors in the worst case and more in others, because there are many variants
/// and each is judged after each pass. With limits of 3, 2 and 1.5, four of ten sweeps had dropped
/// the fastest scatter of 64 KiB (over all ten) by their ninth pass.
[[nodiscard]] double contender_factor(std::size_t passes);
/// How many contenders each family has, not counting baselines and twins: 24 after one pass, two
/// fewer after each further pass, 6 from the tenth on. Each is prepared and verified in every
/// visit. It must not shrink sooner: with 12 after one pass, a variant that led by far in another
/// machine state (8 times as fast as the baseline, the others 6 times) was dropped, because that
/// pass met a state in which a dozen of its kin were faster. A slow variant leaves a visit after
/// three rounds anyway.
[[nodiscard]] std::size_t most_contenders(std::size_t passes);

/// The trials that were ok in all passes so far of one key.
[[nodiscard]] std::set<TrialName> sound_of(std::span<const Measurement> of_key);

/// Which variants take part in the next pass, given all passes so far of one key. Pure; the order
/// of the measurements does not matter.
///
/// - A variant that was not ok in some pass never takes part.
/// - Baselines and twins always do.
/// - A variant that did not run in its family's last pass never does: it could no longer win
///   (decide.h).
/// - Of each family, up to `most_contenders` variants that are typically at most `contender_factor`
///   times as slow as the best. Families are separate because each gets its own decision. At equal
///   ratios the name decides.
/// - Within a pass, a variant's slowness is the median of its ratios to the pass's fastest variant
///   in their common rounds. The fastest is the variant with the least median among those that ran
///   the most rounds of the pass. Over the passes it is the geometric mean of the middle third of
///   those that met the same machine state (machine_states.h).
/// - A pass in which two variants have no common round that counts says nothing about them. If
///   there is no other pass, the medians of all samples are used, because a variant that is ten
///   times as slow in void runs is not fast. (Once in five sweeps, a pass of a single void round
///   ended the race of a variant 1.4 times as fast as the next.)
[[nodiscard]] std::set<TrialName> contenders_of(std::span<const Measurement> of_key);

}  // namespace colltune
