// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <vector>

#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// Whether a sample counts: it bears no RunMark.
[[nodiscard]] bool counts(const Measurement& measurement, std::size_t sample);

/// For each round the median of its samples that count, in ns per call; NaN where none counts. The
/// round is the unit of all comparisons: runs within one are not independent of each other.
[[nodiscard]] std::vector<double> round_medians(const Measurement& measurement);

/// `reference` / `rival` of each round in which both have a value: above 1 where the rival was
/// faster.
[[nodiscard]] std::vector<double> paired_ratios(std::span<const double> reference,
                                                std::span<const double> rival);

/// The rounds of one trial by pass: rounds of two trials of a key that have the same index in the
/// same pass were interleaved.
using PassRounds = std::map<int, std::vector<double>>;

/// The paired ratios of each pass in which there are any.
[[nodiscard]] std::map<int, std::vector<double>> ratios_by_pass(const PassRounds& reference,
                                                                const PassRounds& rival);

/// How much a pass counts, and which state of the machine it met (machine_states.h).
struct PassWeight {
  double weight = 1;
  std::size_t state = 0;
};
/// By pass; who is not there is a PassWeight{}.
using PassWeights = std::map<int, PassWeight>;
[[nodiscard]] PassWeight weight_of(int pass, const PassWeights& weights);

/// What one pass says of a ratio.
struct PassRatio {
  double log = 0;  ///< of its median
  PassWeight by{};
};
/// The ratio that passes come to: their geometric mean, by weight, where the length of a pass does
/// not count, without the lowest and the highest `trimmed` of those of each state. A pass may be a
/// single round that met something else: one such ratio of 450 among 22 passes made a rival 1.28x
/// as fast that was 0.94x. `passes` is not empty.
[[nodiscard]] double ratio_over_passes(std::span<const PassRatio> passes, double trimmed = 1.0 / 8);

/// The same of the passes' ratios; of one pass it is that pass's median, to the last bit. `ratios`
/// is not empty, nor is any pass of it.
[[nodiscard]] double balanced_ratio(const std::map<int, std::vector<double>>& ratios,
                                    const PassWeights& weights = {});

}  // namespace colltune
