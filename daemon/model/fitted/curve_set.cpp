// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/fitted/curve_set.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "colltune/model/size_model.h"
#include "colltune/vocabulary/error.h"
#include "fit_parts.h"

namespace colltune {
namespace {

double log_of(Bytes size) { return std::log(std::max<double>(static_cast<double>(size.value), 1)); }

/// The two measured sizes that surround a size, or that are nearest to it on its side.
struct Neighbours {
  CurvePoint lower;
  CurvePoint upper;
  /// How the time grows between them: the exponent of the size.
  [[nodiscard]] double growth() const {
    return std::log(upper.time / lower.time) /
           std::max(log_of(upper.size) - log_of(lower.size), 1e-9);
  }
};

std::optional<Neighbours> neighbours_of(const std::vector<CurvePoint>& points, Bytes size) {
  if (points.size() < 2) return {};
  auto upper = std::ranges::upper_bound(points, size, {}, &CurvePoint::size);
  if (upper == points.begin()) ++upper;
  if (upper == points.end()) --upper;
  return Neighbours{*(upper - 1), *upper};
}

const CurvePoint* find_point(const std::vector<CurvePoint>& points, Bytes size) {
  const auto found = std::ranges::lower_bound(points, size, {}, &CurvePoint::size);
  return found != points.end() && found->size == size ? &*found : nullptr;
}

SizePosition position_of(const std::vector<CurvePoint>& points, Bytes size) {
  if (size < points.front().size) return SizePosition::below;
  return size > points.back().size ? SizePosition::beyond : SizePosition::between;
}

/// What a sibling says about a size: log(measured / its own line), and how much that counts.
struct Witness {
  double log_ratio = 0;
  double weight = 0;
};

double weighted_middle(std::vector<Witness> witnesses) {
  std::ranges::sort(witnesses, {}, &Witness::log_ratio);
  double all = 0;
  for (const Witness& one : witnesses) all += one.weight;
  double below = 0;
  for (const Witness& one : witnesses) {
    below += one.weight;
    if (below >= all / 2) return one.log_ratio;
  }
  return 0;
}

/// A sibling whose exponent differs by this much counts 1/e as much as one that grows alike.
constexpr double like_growth = 0.1;
/// A sibling that grows otherwise still counts a little, if there is no better one.
constexpr double least_weight = 1e-3;
/// A sibling that takes e times as long, or as short, counts 1/e as much as one that takes as long:
/// what a protocol costs more is a larger part of a short time.
constexpr double like_time = 1;
/// Other parameters of the same implementation share its protocol, variants of a family their
/// transport, and variants of equal parameters their chunks and slots. Each of these makes a
/// sibling count as much more.
constexpr double kinship = 4;

double weight_of(const VariantCurve& asked, const Neighbours& own, const VariantCurve& sibling,
                 const Neighbours& its) {
  const double level =
      std::log(its.lower.time / own.lower.time) + std::log(its.upper.time / own.upper.time);
  double weight = least_weight + std::exp(-std::abs(its.growth() - own.growth()) / like_growth -
                                          std::abs(level) / 2 / like_time);
  if (sibling.problem == asked.problem && sibling.implementation == asked.implementation)
    weight *= kinship;
  if (sibling.family == asked.family) weight *= kinship;
  if (sibling.parameters == asked.parameters) weight *= kinship;
  return weight;
}

double today_at(const std::vector<CurvePoint>& points, Bytes size) {
  const auto timed = [](const CurvePoint& point) {
    return TimedSize{.size = point.size,
                     .time = std::chrono::nanoseconds(std::llround(point.time))};
  };
  if (size < points.front().size) return points.front().time;
  if (size > points.back().size)
    return static_cast<double>(extrapolate_time(timed(points.back()), size).count());
  const auto upper = std::ranges::upper_bound(points, size, {}, &CurvePoint::size);
  return interpolate_precisely(timed(*(upper - 1)), timed(*upper), size);
}

std::vector<CurvePoint> without(const std::vector<CurvePoint>& points, Bytes size) {
  std::vector<CurvePoint> rest;
  std::ranges::copy_if(points, std::back_inserter(rest),
                       [&](const CurvePoint& point) { return point.size != size; });
  return rest;
}

/// Fewer errors than this say nothing about 90 %.
constexpr std::size_t least_residuals = 10;

/// A curve's fit to all its points but one.
struct FitWithout {
  std::size_t curve = 0;
  CurvePoint left_out;
  CurveFit others;
};

std::vector<FitWithout> fits_without(const std::vector<VariantCurve>& curves) {
  std::vector<FitWithout> all;
  for (std::size_t i = 0; i < curves.size(); ++i)
    if (curves[i].points.size() >= least_points)
      for (const CurvePoint& point : curves[i].points)
        all.push_back({i, point, fit_curve(without(curves[i].points, point.size))});
  return all;
}

using TimeAt = double (*)(const CurveFit& fit, Bytes size);

/// Between the sizes: outside them all shapes are alike. 0 if nothing lies between.
double median_error(const std::vector<FitWithout>& all, TimeAt time) {
  std::vector<double> errors;
  for (const FitWithout& one : all)
    if (position_of(one.others.points, one.left_out.size) == SizePosition::between)
      errors.push_back(std::abs(time(one.others, one.left_out.size) / one.left_out.time - 1));
  if (errors.empty()) return 0;
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::ranges::nth_element(errors, middle);
  return *middle;
}

}  // namespace

std::string_view model_name(FitEvidence evidence) {
  switch (evidence) {
    case FitEvidence::same_problem:
      return "alpha_beta_by_problem";
    case FitEvidence::other_problems:
      return "alpha_beta_by_world";
    case FitEvidence::own_curve:
      return "alpha_beta";
  }
  throw Error(StatusCode::internal, "unknown evidence of a fit");
}

double LeftOutTime::error() const { return std::abs(fitted.time / measured - 1); }
double LeftOutTime::error_today() const { return std::abs(today / measured - 1); }

CurveSet::CurveSet(std::vector<VariantCurve> curves, double confidence)
    : curves_(std::move(curves)), confidence_(confidence) {
  if (!(confidence > 0 && confidence < 1))
    throw Error(StatusCode::invalid_argument,
                "a confidence of " + std::to_string(confidence) + "; it must lie between 0 and 1");
  std::erase_if(curves_, [](const VariantCurve& curve) { return curve.points.empty(); });
  for (VariantCurve& curve : curves_) {
    fits_.push_back(fit_curve(curve.points));
    curve.points = fits_.back().points;
  }
  const std::vector<FitWithout> all = fits_without(curves_);
  is_bent_ = median_error(all, bent_time_at) < median_error(all, time_at);
  for (const FitWithout& one : all)
    for (const FitEvidence most : all_fit_evidence) {
      const Raw raw = predict_from(one.curve, one.others, one.left_out.size, most);
      // Less than what was asked for is another case, which gets its own entry.
      if (raw.evidence != most) continue;
      residuals_.at(3 * static_cast<std::size_t>(most) + static_cast<std::size_t>(raw.position))
          .push_back(
              {.size = one.left_out.size, .log_ratio = std::log(one.left_out.time / raw.time)});
    }
  for (auto& of_stratum : residuals_) std::ranges::sort(of_stratum, {}, &Residual::log_ratio);
}

CurveSet::Raw CurveSet::predict_from(std::size_t curve, const CurveFit& fit, Bytes size,
                                     FitEvidence most) const {
  Raw raw{.time = is_bent_ ? bent_time_at(fit, size) : time_at(fit, size),
          .position = position_of(fit.points, size)};
  const auto own = neighbours_of(fit.points, size);
  if (most == FitEvidence::own_curve || !own) return raw;
  const VariantCurve& asked = curves_[curve];
  std::vector<Witness> of_problem;
  std::vector<Witness> of_others;
  for (std::size_t i = 0; i < curves_.size(); ++i) {
    const VariantCurve& sibling = curves_[i];
    if (i == curve || sibling.world != asked.world) continue;
    const bool is_same = sibling.problem == asked.problem;
    if (is_same && most == FitEvidence::other_problems) continue;
    const CurvePoint* const there = find_point(sibling.points, size);
    const CurvePoint* const lower = find_point(sibling.points, own->lower.size);
    const CurvePoint* const upper = find_point(sibling.points, own->upper.size);
    if (there == nullptr || lower == nullptr || upper == nullptr) continue;
    const Neighbours its{*lower, *upper};
    (is_same ? of_problem : of_others)
        .push_back({.log_ratio = std::log(there->time / time_by_pair(*lower, *upper, size)),
                    .weight = weight_of(asked, *own, sibling, its)});
  }
  const auto& witnesses = of_problem.empty() ? of_others : of_problem;
  if (witnesses.empty()) return raw;
  raw.evidence = of_problem.empty() ? FitEvidence::other_problems : FitEvidence::same_problem;
  double weights = 0;
  for (const Witness& one : witnesses) weights += one.weight;
  // A few unlike siblings move a time less than many like ones.
  const double trust = weights / (weights + 1);
  raw.time =
      time_by_pair(own->lower, own->upper, size) * std::exp(trust * weighted_middle(witnesses));
  return raw;
}

const std::vector<CurveSet::Residual>& CurveSet::residuals(FitEvidence evidence,
                                                           SizePosition position) const {
  return residuals_.at(3 * static_cast<std::size_t>(evidence) + static_cast<std::size_t>(position));
}

bool CurveSet::add_interval(FittedTime& fitted, Bytes size, bool leaves_out) const {
  std::vector<double> errors;
  for (const Residual& residual : residuals(fitted.evidence, fitted.position))
    if (!leaves_out || residual.size != size) errors.push_back(residual.log_ratio);
  if (errors.size() < least_residuals) {
    // Too few to tell the ends apart: all errors of this evidence, wherever the size lay.
    errors.clear();
    for (const SizePosition any :
         {SizePosition::between, SizePosition::below, SizePosition::beyond})
      for (const Residual& residual : residuals(fitted.evidence, any))
        if (!leaves_out || residual.size != size) errors.push_back(residual.log_ratio);
    std::ranges::sort(errors);
  }
  if (errors.size() < least_residuals) return false;
  if (fitted.evidence == FitEvidence::own_curve) {
    // No sibling says where times jump. The errors on either side of a jump have unlike signs, so
    // that one side says as much about the other: sizes alone, not signs.
    for (double& error : errors) error = std::abs(error);
    std::ranges::sort(errors);
    const auto n = static_cast<double>(errors.size());
    const auto at =
        std::min(errors.size(), static_cast<std::size_t>(std::ceil((n + 1) * confidence_)));
    fitted.low = fitted.time * std::exp(-errors[at - 1]);
    fitted.high = fitted.time * std::exp(errors[at - 1]);
    return true;
  }
  // The k-th of n errors from either end leaves k / (n + 1) outside.
  const auto n = static_cast<double>(errors.size());
  const auto outside = static_cast<std::size_t>(std::floor((n + 1) * (1 - confidence_) / 2));
  const std::size_t first = outside > 0 ? outside - 1 : 0;
  fitted.low = fitted.time * std::exp(std::min(errors[first], 0.0));
  fitted.high = fitted.time * std::exp(std::max(errors[errors.size() - 1 - first], 0.0));
  return true;
}

FittedTime CurveSet::predict(std::size_t curve, Bytes size) const {
  if (curve >= curves_.size())
    throw Error(StatusCode::invalid_argument,
                "curve " + std::to_string(curve) + " of " + std::to_string(curves_.size()));
  if (const CurvePoint* const point = find_point(curves_[curve].points, size))
    return {.time = point->time, .low = point->time, .high = point->time};
  const Raw raw = predict_from(curve, fits_[curve], size, FitEvidence::same_problem);
  FittedTime fitted{.time = raw.time, .evidence = raw.evidence, .position = raw.position};
  if (!add_interval(fitted, size, false)) {
    // Without errors to learn from: anything between half and twice.
    fitted.low = fitted.time / 2;
    fitted.high = fitted.time * 2;
  }
  return fitted;
}

LeftOutTime CurveSet::leave_out(std::size_t curve, Bytes size, FitEvidence evidence) const {
  const CurvePoint* const point =
      curve < curves_.size() ? find_point(curves_[curve].points, size) : nullptr;
  if (point == nullptr || curves_[curve].points.size() < 2)
    throw Error(StatusCode::invalid_argument,
                "curve " + std::to_string(curve) + " of " + std::to_string(curves_.size()) +
                    " was not measured at " + std::to_string(size.value) +
                    " bytes and at another size");
  const std::vector<CurvePoint> others = without(curves_[curve].points, size);
  const Raw raw = predict_from(curve, fit_curve(others), size, evidence);
  LeftOutTime one{.curve = curve,
                  .size = size,
                  .measured = point->time,
                  .today = today_at(others, size),
                  .fitted = {.time = raw.time, .evidence = raw.evidence, .position = raw.position}};
  one.has_interval = add_interval(one.fitted, size, true);
  return one;
}

std::vector<LeftOutTime> CurveSet::leave_out(FitEvidence evidence) const {
  std::vector<LeftOutTime> all;
  for (std::size_t i = 0; i < curves_.size(); ++i)
    if (curves_[i].points.size() >= least_points)
      for (const CurvePoint& point : curves_[i].points)
        all.push_back(leave_out(i, point.size, evidence));
  return all;
}

}  // namespace colltune
