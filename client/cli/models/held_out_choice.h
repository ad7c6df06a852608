// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "colltune/decide/curves.h"
#include "colltune/model/fitted/curve_set.h"
#include "reports/report_data.h"

namespace colltune {

/// What would be chosen for a key if its size had not been measured for its problem.
struct HeldOutChoice {
  TuningKey key;
  Variant best;          ///< the fastest of the key's ranking
  double best_time = 0;  ///< as measured at the key, in ns, as all times here
  /// Measured at the key; 0 if the chosen variant was not measured there, so nothing can be said.
  double time_by_table = 0;
  double time_with_fits = 0;
  double time_by_fit = 0;
  double time_by_clear_fit = 0;
  double time_of_baseline = 0;
  double time_by_decision = 0;  ///< of what the sweep chose with this size measured
  // How many times as long as the best one takes, where half of the key's passes chose the best and
  // the other half timed both (the geometric mean of both ways): the least of many times that were
  // read once is too small for a best. 0 if it was not measured in both halves.
  double by_halves_of_table = 0;
  double by_halves_with_fits = 0;
  double by_halves_of_fit = 0;
  double by_halves_of_clear_fit = 0;
  double by_halves_of_baseline = 0;
  double by_halves_of_decision = 0;
  Variant by_table;   ///< of a table without fits
  Variant with_fits;  ///< of the table with its fits, which is what lookups answer
  Variant by_fit;
  Variant by_clear_fit;  ///< as by_fit, if faster than by_table by more than both intervals
  Variant by_decision;
};

/// For each decided key over all families: the answers of the table of all other decisions, without
/// and with their fits, and the fastest by fitted times among the answer without, the baseline and
/// the winners at the neighbouring sizes that were ranked at both. `curves` are those of `set`. A
/// key without another size of its problem is left out.
[[nodiscard]] std::vector<HeldOutChoice> held_out_choices(const ReportedSweep& sweep,
                                                          std::span<const SweptCurve> curves,
                                                          const CurveSet& set);

/// The curves of every other pass of each key: the first, third, … and the rest.
[[nodiscard]] std::array<std::vector<SweptCurve>, 2> curves_by_halves(
    std::span<const Measurement> measurements);

/// How many choices could be judged, and the share of them within `tolerated` of the best.
struct ChoiceShare {
  std::size_t judged = 0;
  std::size_t within = 0;

  [[nodiscard]] double share() const {
    return judged == 0 ? 0 : static_cast<double>(within) / static_cast<double>(judged);
  }
};
[[nodiscard]] ChoiceShare share_within(std::span<const HeldOutChoice> choices,
                                       double HeldOutChoice::*time, double tolerated = 0.1);
/// The same of one of the `by_halves`.
[[nodiscard]] ChoiceShare share_by_halves(std::span<const HeldOutChoice> choices,
                                          double HeldOutChoice::*ratio, double tolerated = 0.1);

}  // namespace colltune
