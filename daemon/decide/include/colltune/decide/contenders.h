// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <span>

#include "colltune/decide/trials.h"

namespace colltune {

/// How much slower than the fastest of its family a contender may have been, typically over
/// `passes` (at least 1): 7.4 after one pass, 2.7 after four, 1.6 after 16. From pass to pass the
/// states of a machine change the ratio of two variants by a factor of up to e^0.6 (standard
/// deviation; two cores of a virtual machine hand a cache line over three times as fast where the
/// hypervisor has put them side by side), and a mean over several passes is the surer the more they
/// are: this is three standard errors of the worst and more of the others, since there are many
/// variants, and each is judged after each pass. With 3, 2 and 1.5, four of ten sweeps had left out
/// by their ninth pass the scatter of 64 KiB that was the fastest over all ten.
[[nodiscard]] double contender_factor(std::size_t passes);
/// How many of each family, besides baselines and twins: 24 after one pass, two fewer after each
/// further one, 6 from the tenth on. Each is prepared and verified in every visit. Not fewer
/// sooner: with 12 after one pass, a variant that led by far in another state of the machine (8
/// times as fast as the baseline, the others 6 times) was left out where that pass met a state in
/// which a dozen of its kin were faster. Who is slow leaves a visit after three rounds anyway.
[[nodiscard]] std::size_t most_contenders(std::size_t passes);

/// Who takes part in the next pass, by what all passes so far say about one key. Pure; the order of
/// the measurements does not matter.
///
/// - Who was not ok in some pass: never.
/// - Baselines and twins: always.
/// - Who did not run in its family's last pass: never. It could not win any more (decide.h).
/// - Of each family up to `most_contenders` variants that were at most `contender_factor` times as
///   slow as the best: in each pass by the median of the ratios to the pass's fastest in the rounds
///   that both ran, the fastest being who ran as many rounds of the pass as any and has the least
///   median; over the passes by the geometric mean of the middle third of those that met the same
///   state of the machine (machine_states.h). The family, since each one gets a decision of its
///   own. At equal ratios they go by name. A pass in which two have no round in common that counts
///   says nothing, unless there are no others: then the medians of all samples stand for it, since
///   who is ten times as slow in void runs is not fast. (A pass of a single void round ended the
///   race of a variant 1.4 times as fast as the next, once in five sweeps.)
[[nodiscard]] std::set<TrialName> contenders_of(std::span<const Measurement> of_key);

}  // namespace colltune
