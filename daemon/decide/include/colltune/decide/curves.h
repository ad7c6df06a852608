// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "colltune/model/fitted/curve_set.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// A curve of a sweep with the names that reports print.
struct SweptCurve {
  TuningKey key;  ///< with a message size of 0
  Variant variant;
  std::string family;
  bool is_baseline = false;
  std::vector<CurvePoint> points;
  std::vector<std::size_t> passes;  ///< how many each point rests on
};

/// The measured time at a size, in ns; 0 if there is none.
[[nodiscard]] double measured_at(const SweptCurve& curve, Bytes size);

/// The curves of a sweep's variants, over all sizes at which they were measured and right. A time
/// is the geometric mean over the passes of each one's median round, weighted by machine states
/// (machine_states.h). For a variant that left before the last pass, what the others of its key
/// took tells what it would have taken in the passes that it missed.
[[nodiscard]] std::vector<SweptCurve> curves_of(std::span<const Measurement> measurements);

/// The same for the models, in the same order.
[[nodiscard]] std::vector<VariantCurve> to_variant_curves(std::span<const SweptCurve> curves);

}  // namespace colltune
