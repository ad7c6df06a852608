// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "forecasts.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "colltune/model/fitted/curve_set.h"

namespace colltune {
namespace {

std::chrono::nanoseconds to_time(double ns) { return std::chrono::nanoseconds(std::llround(ns)); }

}  // namespace

/// The curves of one problem's variants, in one world.
class Forecasts::OfProblem {
 public:
  explicit OfProblem(std::span<const SweptCurve> curves) : set_(to_variant_curves(curves)) {
    for (std::size_t i = 0; i < curves.size(); ++i) places_.emplace(curves[i].variant, i);
  }

  [[nodiscard]] std::optional<Forecast> of(Bytes size, const Variant& variant) const {
    const auto place = places_.find(variant);
    if (place == places_.end()) return std::nullopt;
    const std::vector<CurvePoint>& points = set_.fit(place->second).points;
    if (size < points.front().size || points.back().size < size) return std::nullopt;
    const FittedTime fitted = set_.predict(place->second, size);
    return Forecast{
        .time = to_time(fitted.time), .low = to_time(fitted.low), .high = to_time(fitted.high)};
  }

 private:
  CurveSet set_;
  std::map<Variant, std::size_t> places_;
};

Forecasts::Forecasts(std::span<const Measurement> measured) {
  for (SweptCurve& curve : curves_of(measured)) {
    auto& of_key = curves_[curve.key];
    of_key.push_back(std::move(curve));
  }
}

Forecasts::~Forecasts() = default;
Forecasts::Forecasts(Forecasts&&) noexcept = default;
Forecasts& Forecasts::operator=(Forecasts&&) noexcept = default;

std::optional<Forecast> Forecasts::of(const TuningKey& key, const Variant& variant) {
  TuningKey problem = key;
  problem.problem.message_size = {};
  const auto curves = curves_.find(problem);
  if (curves == curves_.end()) return std::nullopt;
  std::unique_ptr<OfProblem>& model = models_[problem];
  if (!model) model = std::make_unique<OfProblem>(curves->second);
  return model->of(key.problem.message_size, variant);
}

}  // namespace colltune
