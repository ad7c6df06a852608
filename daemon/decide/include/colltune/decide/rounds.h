// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <vector>

#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// Whether a sample counts: it has no RunMark.
[[nodiscard]] bool counts(const Measurement& measurement, std::size_t sample);

/// For each round the median of its samples that count, in ns per call; NaN if none counts. The
/// round is the unit of all comparisons, because runs within one round are not independent.
[[nodiscard]] std::vector<double> round_medians(const Measurement& measurement);

/// `reference` / `rival` for each round in which both have a value: above 1 if the rival was
/// faster.
[[nodiscard]] std::vector<double> paired_ratios(std::span<const double> reference,
                                                std::span<const double> rival);

/// The rounds of one trial by pass. Rounds of two trials of a key with the same index in the same
/// pass were interleaved.
using PassRounds = std::map<int, std::vector<double>>;

/// The paired ratios of each pass that has any.
[[nodiscard]] std::map<int, std::vector<double>> ratios_by_pass(const PassRounds& reference,
                                                                const PassRounds& rival);

/// How much a pass counts, and which state of the machine it met (machine_states.h).
struct PassWeight {
  double weight = 1;
  std::size_t state = 0;
};
/// By pass; a pass that is absent has the weight PassWeight{}.
using PassWeights = std::map<int, PassWeight>;
[[nodiscard]] PassWeight weight_of(int pass, const PassWeights& weights);

/// What one pass says about a ratio.
struct PassRatio {
  double log = 0;  ///< logarithm of its median
  PassWeight by{};
};
/// Combines the ratios of passes: their geometric mean by weight, without the lowest and the
/// highest `trimmed` of each state. The length of a pass does not count. A pass may be a single
/// disturbed round: one ratio of 450 among 22 passes made a rival look 1.28x as fast that was
/// 0.94x. `passes` must not be empty.
[[nodiscard]] double ratio_over_passes(std::span<const PassRatio> passes, double trimmed = 1.0 / 8);

/// The same for the passes' ratios. For one pass it is that pass's median, to the last bit. Neither
/// `ratios` nor any pass in it may be empty.
[[nodiscard]] double balanced_ratio(const std::map<int, std::vector<double>>& ratios,
                                    const PassWeights& weights = {});

}  // namespace colltune
