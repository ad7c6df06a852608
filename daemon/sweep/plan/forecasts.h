// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "colltune/decide/curves.h"
#include "colltune/sweep/plan/sweep_plan.h"

namespace colltune {

/// What the fitted models make of earlier sweeps' times (daemon/model/fitted).
class Forecasts {
 public:
  explicit Forecasts(std::span<const Measurement> measured);
  ~Forecasts();
  Forecasts(Forecasts&&) noexcept;
  Forecasts& operator=(Forecasts&&) noexcept;

  /// The time of the variant for the key, if it was measured for this key but for the size: at this
  /// size, or at a smaller and a larger one. A model is made for all variants of a problem when the
  /// first of them is asked for.
  [[nodiscard]] std::optional<Forecast> of(const TuningKey& key, const Variant& variant);

 private:
  class OfProblem;
  std::map<TuningKey, std::vector<SweptCurve>> curves_;  ///< by key without size
  std::map<TuningKey, std::unique_ptr<OfProblem>> models_;
};

}  // namespace colltune
