// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace colltune
