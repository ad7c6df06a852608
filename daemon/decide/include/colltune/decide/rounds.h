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

/// The geometric mean over the passes of each one's median ratio: a pass counts as much as any
/// other, however long it was. `ratios` is not empty, nor is any pass of it.
[[nodiscard]] double balanced_ratio(const std::map<int, std::vector<double>>& ratios);

}  // namespace colltune
