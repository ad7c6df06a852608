// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/fitted/variant_fits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace colltune {
namespace {

double value_of(Bytes size) { return static_cast<double>(size.value); }

/// So many of the last sizes tell what follows: more would reach into another protocol's sizes,
/// fewer would follow the noise of one.
constexpr std::size_t points_of_end = 3;
/// A curve of this many points can be judged by leaving one out.
constexpr std::size_t least_points = 3;
/// Fewer errors than this say nothing about 90 %.
constexpr std::size_t least_errors = 10;
constexpr double kept_share = 0.9;

AlphaBeta line_through(const CurvePoint& lower, const CurvePoint& upper) {
  const double beta = (upper.time - lower.time) / (value_of(upper.size) - value_of(lower.size));
  return {.alpha = lower.time - beta * value_of(lower.size), .beta = beta};
}

AlphaBeta line_beyond(std::span<const CurvePoint> points) {
  return fit_line(points.last(std::min(points.size(), points_of_end)));
}

double time_beyond(double last_time, Bytes last, const AlphaBeta& line, Bytes size) {
  if (line.alpha <= 0 || line.beta <= 0)
    return last_time * value_of(size) / std::max(value_of(last), 1.0);
  return last_time * line.at(size) / line.at(last);
}

std::vector<FitSegment> segments_of(std::span<const CurvePoint> points) {
  std::vector<FitSegment> segments;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const AlphaBeta line =
        i + 1 < points.size() ? line_through(points[i], points[i + 1]) : line_beyond(points);
    segments.push_back({.from = points[i].size, .alpha = line.alpha, .beta = line.beta});
  }
  return segments;
}

/// Absolute logarithms of measured / predicted, by position. They are taken without sign: beside a
/// jump in the times the errors on its two sides have unlike signs, and nothing says where the
/// asked size lies.
struct LeftOutErrors {
  std::array<std::vector<double>, 3> by_position;

  void add(SizePosition position, double measured, double predicted) {
    if (!(predicted > 0)) return;  // at a size of 0, a line through greater ones may say so
    by_position.at(static_cast<std::size_t>(position))
        .push_back(std::abs(std::log(measured / predicted)));
  }
  void add_all(std::span<const CurvePoint> points) {
    if (points.size() < least_points) return;
    const std::size_t last = points.size() - 1;
    add(SizePosition::below, points[0].time, time_by_pair(points[1], points[2], points[0].size));
    for (std::size_t i = 1; i < last; ++i)
      add(SizePosition::between, points[i].time,
          time_by_pair(points[i - 1], points[i + 1], points[i].size));
    const auto others = points.first(last);
    add(SizePosition::beyond, points[last].time,
        time_beyond(others.back().time, others.back().size, line_beyond(others),
                    points[last].size));
  }
  void sort() {
    for (auto& errors : by_position) std::ranges::sort(errors);
  }
  [[nodiscard]] std::vector<double> at_any_position() const {
    std::vector<double> all;
    for (const auto& errors : by_position) all.insert(all.end(), errors.begin(), errors.end());
    std::ranges::sort(all);
    return all;
  }
};

/// The interval that keeps its share of these errors, which are sorted.
FitInterval interval_of(const std::vector<double>& errors) {
  const auto n = static_cast<double>(errors.size());
  const auto kept =
      std::min(errors.size(), static_cast<std::size_t>(std::ceil((n + 1) * kept_share)));
  return {.low = std::exp(-errors[kept - 1]), .high = std::exp(errors[kept - 1])};
}

FitInterval interval_at(SizePosition position, const LeftOutErrors& of_problem,
                        const LeftOutErrors& of_world) {
  const auto at = static_cast<std::size_t>(position);
  for (const LeftOutErrors* errors : {&of_problem, &of_world})
    if (errors->by_position.at(at).size() >= least_errors)
      return interval_of(errors->by_position.at(at));
  const std::vector<double> all = of_world.at_any_position();
  return all.size() >= least_errors ? interval_of(all) : FitInterval{};
}

/// The curves of one problem, topology, environment and regime.
using CurvesOfVariants = std::map<Variant, std::vector<CurvePoint>>;

CurvesOfVariants curves_of(std::vector<const Decision*> decisions) {
  // The first decision that ranks a variant at a size tells its time.
  std::ranges::sort(decisions, {}, [](const Decision* decision) {
    return std::tuple(decision->key.problem.message_size, decision->family != any_family,
                      std::string_view(decision->family));
  });
  CurvesOfVariants curves;
  for (const Decision* decision : decisions)
    for (const RankedVariant& ranked : decision->ranked) {
      if (ranked.median.count() <= 0) continue;
      auto& points = curves[ranked.variant];
      if (!points.empty() && points.back().size == decision->key.problem.message_size) continue;
      points.push_back({.size = decision->key.problem.message_size,
                        .time = static_cast<double>(ranked.median.count())});
    }
  std::erase_if(curves, [](const auto& curve) { return curve.second.size() < 2; });
  return curves;
}

TuningKey world_of(TuningKey key) {
  key.problem = {};
  return key;
}

}  // namespace

std::vector<VariantFit> fits_of(std::span<const Decision> decisions) {
  std::map<TuningKey, std::vector<const Decision*>> problems;
  for (const Decision& decision : decisions) {
    TuningKey key = decision.key;
    key.problem.message_size = {};
    problems[std::move(key)].push_back(&decision);
  }
  struct CurvesOfProblem {
    CurvesOfVariants variants;
    LeftOutErrors errors;
  };
  std::map<TuningKey, CurvesOfProblem> all;
  std::map<TuningKey, LeftOutErrors> worlds;
  for (auto& [key, of_problem] : problems) {
    CurvesOfProblem curves{.variants = curves_of(std::move(of_problem)), .errors = {}};
    LeftOutErrors& of_world = worlds[world_of(key)];
    for (const auto& [variant, points] : curves.variants) {
      curves.errors.add_all(points);
      of_world.add_all(points);
    }
    curves.errors.sort();
    all.emplace(key, std::move(curves));
  }
  for (auto& [world, errors] : worlds) errors.sort();
  std::vector<VariantFit> fits;
  for (const auto& [key, curves] : all) {
    if (curves.variants.empty()) continue;
    const LeftOutErrors& of_world = worlds.at(world_of(key));
    const auto interval = [&](SizePosition position) {
      return interval_at(position, curves.errors, of_world);
    };
    const VariantFit common{.key = key,
                            .variant = {},
                            .model = std::string(model_name(FitEvidence::own_curve)),
                            .segments = {},
                            .inside = interval(SizePosition::between),
                            .below = interval(SizePosition::below),
                            .beyond = interval(SizePosition::beyond)};
    for (const auto& [variant, points] : curves.variants) {
      VariantFit fit = common;
      fit.key.problem.message_size = points.front().size;
      fit.variant = variant;
      fit.segments = segments_of(points);
      fits.push_back(std::move(fit));
    }
  }
  std::ranges::sort(fits, {}, [](const VariantFit& fit) { return std::tie(fit.key, fit.variant); });
  return fits;
}

FittedTime predict(const VariantFit& fit, Bytes size) {
  const auto line_of = [](const FitSegment& segment) {
    return AlphaBeta{.alpha = segment.alpha, .beta = segment.beta};
  };
  const Bytes first = fit.segments.front().from;
  const Bytes last = fit.segments.back().from;
  FittedTime found{.evidence = FitEvidence::own_curve};
  const FitInterval* interval = &fit.inside;
  if (size < first) {
    found.position = SizePosition::below;
    interval = &fit.below;
    const AlphaBeta line = line_of(fit.segments.front());
    const double ratio = line.at(size) / line.at(first);
    found.time = line.at(first) * std::clamp(ratio, value_of(size) / value_of(first), 1.0);
  } else if (size > last) {
    found.position = SizePosition::beyond;
    interval = &fit.beyond;
    const double last_time = line_of(fit.segments[fit.segments.size() - 2]).at(last);
    found.time = time_beyond(last_time, last, line_of(fit.segments.back()), size);
  } else {
    // The last segment whose line holds at this size; at the last size that of the one before.
    const auto above = std::ranges::upper_bound(fit.segments.begin() + 1, fit.segments.end() - 1,
                                                size, {}, &FitSegment::from);
    found.time = line_of(*(above - 1)).at(size);
  }
  found.low = found.time * interval->low;
  found.high = found.time * interval->high;
  return found;
}

bool reaches(const VariantFit& fit, Bytes size) {
  const std::uint64_t first = fit.segments.front().from.value;
  const std::uint64_t last = fit.segments.back().from.value;
  // Divided, not multiplied: sizes may be as large as 2^64.
  return size.value >= first / most_extrapolation && size.value / most_extrapolation <= last;
}

}  // namespace colltune
