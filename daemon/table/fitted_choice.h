// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "colltune/table_file/table_content.h"
#include "colltune/vocabulary/lookup.h"
#include "index.h"
#include "rank_around.h"

namespace colltune {

/// Changes a ranking for a size that was not measured by the fits of its curve; nothing if the
/// curve has none.
///
/// Between two sizes the variant of the least ratio to the baseline comes first (ratio_choice.h).
/// Outside the measured sizes, where the nearest decision lacks proof, the fastest variant comes
/// first that is clearly faster than the baseline there and shown to be faster at the size behind
/// it (shown_faster.h), if it gains a tenth. Up to `most_extrapolation` times outside the baseline
/// comes first if its predicted interval lies wholly below that of the first one; times and
/// speed-ups of variants that have a fit become the predicted ones.
///
/// Returns what the times of the variant that is first afterwards, and of the first baseline,
/// follow from; empty if no fit reaches the size and nothing was chosen by fits.
[[nodiscard]] std::optional<AnswerPrediction> choose_by_fits(const Curve& curve,
                                                             const Neighbours& around,
                                                             const Asked& asked,
                                                             RankedAround& found);

/// The interval of the first variant's time at the size; empty if no model has one.
[[nodiscard]] std::optional<TimePrediction> prediction_at(const AnswerPrediction& prediction,
                                                          Bytes size);

}  // namespace colltune
