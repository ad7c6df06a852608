// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "fit_parts.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>

namespace colltune {
namespace {

/// So many of the last sizes tell what follows: more would reach into another protocol's sizes,
/// fewer would follow the noise of one.
constexpr std::size_t points_of_end = 3;
constexpr double kept_share = 0.9;

AlphaBeta line_through(const CurvePoint& lower, const CurvePoint& upper) {
  const double beta = (upper.time - lower.time) / (value_of(upper.size) - value_of(lower.size));
  return {.alpha = lower.time - beta * value_of(lower.size), .beta = beta};
}

AlphaBeta line_beyond(std::span<const CurvePoint> points) {
  return fit_line(points.last(std::min(points.size(), points_of_end)));
}

}  // namespace

AlphaBeta line_from_last(double last_time, Bytes last, const AlphaBeta& line) {
  if (line.alpha <= 0 || line.beta <= 0)
    return {.alpha = 0, .beta = last_time / std::max(value_of(last), 1.0)};
  const double scale = last_time / line.at(last);
  return {.alpha = line.alpha * scale, .beta = line.beta * scale};
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

void LeftOutErrors::add(SizePosition position, double measured, double predicted) {
  if (!(predicted > 0)) return;  // at a size of 0, a line through greater ones may say so
  by_position.at(static_cast<std::size_t>(position))
      .push_back(std::abs(std::log(measured / predicted)));
}

void LeftOutErrors::add_all(std::span<const CurvePoint> points) {
  if (points.size() < least_points) return;
  const std::size_t last = points.size() - 1;
  add(SizePosition::below, points[0].time, time_by_pair(points[1], points[2], points[0].size));
  for (std::size_t i = 1; i < last; ++i)
    add(SizePosition::between, points[i].time,
        time_by_pair(points[i - 1], points[i + 1], points[i].size));
  const auto others = points.first(last);
  const AlphaBeta line =
      line_from_last(others.back().time, others.back().size, line_beyond(others));
  add(SizePosition::beyond, points[last].time, line.at(points[last].size));
}

void LeftOutErrors::sort() {
  for (auto& errors : by_position) std::ranges::sort(errors);
}

std::vector<double> LeftOutErrors::at_any_position() const {
  std::vector<double> all;
  for (const auto& errors : by_position) all.insert(all.end(), errors.begin(), errors.end());
  std::ranges::sort(all);
  return all;
}

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

/// The time of an entry in ns: the baseline's over its speed-up, which pairs the rounds of both,
/// where the decision has both. Medians of two variants may be of two states of the machine.
double time_of(const RankedVariant& ranked, const Decision& decision) {
  const auto baseline = std::ranges::find_if(decision.ranked, &RankedVariant::is_baseline);
  if (baseline == decision.ranked.end() || baseline->median.count() <= 0 ||
      ranked.speedup_over_baseline <= 0 || baseline->speedup_over_baseline <= 0)
    return static_cast<double>(ranked.median.count());
  return static_cast<double>(baseline->median.count()) * baseline->speedup_over_baseline /
         ranked.speedup_over_baseline;
}

CurvesOfVariants curves_of_variants(std::vector<const Decision*> decisions) {
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
      points.push_back(
          {.size = decision->key.problem.message_size, .time = time_of(ranked, *decision)});
    }
  return curves;
}

}  // namespace colltune
