// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/fitted/alpha_beta.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "colltune/model/size_model.h"
#include "colltune/vocabulary/error.h"
#include "fit_parts.h"

namespace colltune {
namespace {

void check_points(std::span<const CurvePoint> points) {
  if (points.empty())
    throw Error(StatusCode::invalid_argument, "a fit needs at least one measured size");
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!(points[i].time > 0) || !std::isfinite(points[i].time))
      throw Error(StatusCode::invalid_argument, "a fit needs times above 0; the one at " +
                                                    std::to_string(points[i].size.value) +
                                                    " bytes is " + std::to_string(points[i].time));
    if (i > 0 && points[i].size <= points[i - 1].size)
      throw Error(StatusCode::invalid_argument, "a fit needs ascending sizes, each once; " +
                                                    std::to_string(points[i].size.value) +
                                                    " bytes follows " +
                                                    std::to_string(points[i - 1].size.value));
  }
}

/// Least squares of (line - time) / time with the given weights. A line never falls.
AlphaBeta weighted_line(std::span<const CurvePoint> points, std::span<const double> weights) {
  // Sizes in units of the largest one, so that sums of squares keep their digits.
  const double unit = std::max(value_of(points.back().size), 1.0);
  double of_one = 0, of_size = 0, of_square = 0, of_time = 0, of_product = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double time = points[i].time;
    const double weight = weights[i] / (time * time);
    const double size = value_of(points[i].size) / unit;
    of_one += weight;
    of_size += weight * size;
    of_square += weight * size * size;
    of_time += weight * time;
    of_product += weight * size * time;
  }
  const double determinant = of_one * of_square - of_size * of_size;
  if (determinant > 1e-12 * of_one * of_square) {
    const double beta = (of_one * of_product - of_size * of_time) / determinant;
    if (beta > 0) return {.alpha = (of_time - beta * of_size) / of_one, .beta = beta / unit};
  }
  return {.alpha = of_time / of_one};
}

double relative_error(const AlphaBeta& line, const CurvePoint& point) {
  return line.at(point.size) / point.time - 1;
}

/// A segment's line and its share of the criterion.
struct ScoredSegment {
  CurveSegment segment;
  double squares = 0;  ///< sum of squared relative errors, each at most `most_square`
};
/// One point that is off by more says nothing more against a line.
constexpr double most_square = 1.0;

ScoredSegment score_segment(std::span<const CurvePoint> points) {
  ScoredSegment scored{.segment = {.first = points.front().size,
                                   .last = points.back().size,
                                   .line = fit_line(points),
                                   .points = points.size()}};
  for (const CurvePoint& point : points) {
    const double error = relative_error(scored.segment.line, point);
    scored.squares += std::min(error * error, most_square);
    // A line that is not positive where it was measured is no model of a time.
    if (!(scored.segment.line.at(point.size) > 0)) scored.squares += most_square;
  }
  return scored;
}

struct Partition {
  std::vector<CurveSegment> segments;
  double squares = std::numeric_limits<double>::infinity();
};

/// The best partition of the points from `begin` on into `count` segments of at least two points.
Partition best_partition(const std::vector<std::vector<ScoredSegment>>& scored, std::size_t begin,
                         std::size_t end, std::size_t count) {
  Partition best;
  if (count == 1) {
    const ScoredSegment& all = scored[begin][end - begin - 1];
    return {.segments = {all.segment}, .squares = all.squares};
  }
  for (std::size_t cut = begin + 2; cut + 2 * (count - 1) <= end; ++cut) {
    Partition rest = best_partition(scored, cut, end, count - 1);
    const ScoredSegment& head = scored[begin][cut - begin - 1];
    if (head.squares + rest.squares >= best.squares) continue;
    best.squares = head.squares + rest.squares;
    best.segments = {head.segment};
    best.segments.insert(best.segments.end(), rest.segments.begin(), rest.segments.end());
  }
  return best;
}

/// Schwarz's criterion: two parameters for each line, one for each breakpoint.
double criterion(double squares, std::size_t points, std::size_t segments, double noise) {
  const auto n = static_cast<double>(points);
  const auto parameters = static_cast<double>(3 * segments - 1);
  return n * std::log(squares / n + noise * noise) + parameters * std::log(n);
}

/// A line through fewer points follows their noise; the two neighbours say as much.
constexpr std::size_t supported = 4;

double log_size(const CurvePoint& point) { return std::log(std::max(value_of(point.size), 1.0)); }

/// The slope of the logarithms from one point to the next.
double slope_between(const CurvePoint& lower, const CurvePoint& upper) {
  return std::log(upper.time / lower.time) / (log_size(upper) - log_size(lower));
}

/// The slope of the logarithms at a point.
double slope_at(std::span<const CurvePoint> points, std::size_t at) {
  if (at == 0) return slope_between(points[0], points[1]);
  if (at + 1 == points.size()) return slope_between(points[at - 1], points[at]);
  const double before = log_size(points[at]) - log_size(points[at - 1]);
  const double after = log_size(points[at + 1]) - log_size(points[at]);
  return (slope_between(points[at - 1], points[at]) * after +
          slope_between(points[at], points[at + 1]) * before) /
         (before + after);
}

double below_all(const CurvePoint& first, const AlphaBeta& line, Bytes size) {
  const double at_first = line.at(first.size);
  const double ratio = at_first > 0 ? line.at(size) / at_first : 1;
  return first.time * std::clamp(ratio, value_of(size) / value_of(first.size), 1.0);
}

double beyond_all(const CurvePoint& last, const AlphaBeta& line, Bytes size) {
  const double growth = value_of(size) / std::max(value_of(last.size), 1.0);
  if (line.alpha <= 0 || line.beta <= 0) return last.time * growth;
  return last.time * line.at(size) / line.at(last.size);
}

}  // namespace

AlphaBeta fit_line(std::span<const CurvePoint> points) {
  check_points(points);
  std::vector<double> weights(points.size(), 1.0);
  AlphaBeta line = weighted_line(points, weights);
  // Iteratively reweighted least squares; it settles within a few rounds.
  for (int round = 0; round < 20 && points.size() > 2; ++round) {
    std::vector<double> errors;
    for (const CurvePoint& point : points) errors.push_back(std::abs(relative_error(line, point)));
    std::vector<double> sorted = errors;
    std::ranges::nth_element(sorted,
                             sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
    // Huber's 1.345 deviations, the deviation estimated by the median of absolute errors.
    const double limit = 1.345 * 1.4826 * sorted[sorted.size() / 2];
    for (std::size_t i = 0; i < points.size(); ++i)
      weights[i] = errors[i] <= limit || limit <= 0 ? 1 : limit / errors[i];
    const AlphaBeta next = weighted_line(points, weights);
    const bool is_settled =
        std::abs(next.at(points.back().size) / line.at(points.back().size) - 1) < 1e-6 &&
        std::abs(next.at(points.front().size) / line.at(points.front().size) - 1) < 1e-6;
    line = next;
    if (is_settled) break;
  }
  return line;
}

CurveFit fit_curve(std::vector<CurvePoint> points, double noise) {
  std::ranges::sort(points, {}, &CurvePoint::size);
  check_points(points);
  const std::size_t n = points.size();
  std::vector<std::vector<ScoredSegment>> scored(n);
  for (std::size_t begin = 0; begin < n; ++begin)
    for (std::size_t end = begin + 1; end <= n; ++end)
      scored[begin].push_back(score_segment(std::span(points).subspan(begin, end - begin)));
  Partition best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t count = 1; count <= most_segments && (count == 1 || 2 * count <= n); ++count) {
    Partition partition = best_partition(scored, 0, n, count);
    const double value = criterion(partition.squares, n, count, noise);
    if (value >= least) continue;
    least = value;
    best = std::move(partition);
  }
  CurveFit fit{.points = std::move(points), .segments = std::move(best.segments), .residuals = {}};
  for (const CurvePoint& point : fit.points) {
    const auto own = std::ranges::find_if(
        fit.segments, [&](const CurveSegment& segment) { return point.size <= segment.last; });
    const double line = own->line.at(point.size);
    fit.residuals.push_back(line > 0 ? std::log(point.time / line) : 0);
  }
  return fit;
}

double time_by_pair(const CurvePoint& lower, const CurvePoint& upper, Bytes size) {
  const double beta = (upper.time - lower.time) / (value_of(upper.size) - value_of(lower.size));
  const AlphaBeta line{.alpha = lower.time - beta * value_of(lower.size), .beta = beta};
  if (size < lower.size) return below_all(lower, line, size);
  if (size > upper.size) return beyond_all(upper, line, size);
  return line.at(size);
}

double time_at(const CurveFit& fit, Bytes size) {
  const auto& points = fit.points;
  if (size < points.front().size)
    return points.size() == 1 ? below_all(points[0], fit.segments[0].line, size)
                              : time_by_pair(points[0], points[1], size);
  if (size > points.back().size) return beyond_all(points.back(), fit.segments.back().line, size);
  const auto upper = std::ranges::lower_bound(points, size, {}, &CurvePoint::size);
  if (upper->size == size) return upper->time;
  const auto lower = upper - 1;
  const auto own = std::ranges::find_if(
      fit.segments, [&](const CurveSegment& segment) { return size <= segment.last; });
  const auto at = static_cast<std::size_t>(lower - points.begin());
  const bool is_positive = own->line.at(lower->size) > 0 && own->line.at(upper->size) > 0;
  if (lower->size < own->first || own->points < supported || !is_positive)
    return time_by_pair(*lower, *upper, size);
  const double position = position_between(lower->size, upper->size, size);
  const double residual =
      fit.residuals[at] + position * (fit.residuals[at + 1] - fit.residuals[at]);
  return own->line.at(size) * std::exp(residual);
}

double bent_time_at(const CurveFit& fit, Bytes size) {
  const double straight = time_at(fit, size);
  const auto& points = fit.points;
  const auto upper = std::ranges::lower_bound(points, size, {}, &CurvePoint::size);
  // Of a size below 1 byte there is no logarithm.
  if (upper == points.begin() || upper == points.end() || upper->size == size ||
      points.front().size.value == 0 || !(straight > 0))
    return straight;
  const auto at = static_cast<std::size_t>(upper - points.begin()) - 1;
  const double width = log_size(points[at + 1]) - log_size(points[at]);
  const double x = (std::log(value_of(size)) - log_size(points[at])) / width;
  // Hermite's form of the cubic through both points with both slopes.
  const double cubic = (2 * x * x * x - 3 * x * x + 1) * std::log(points[at].time) +
                       (x * x * x - 2 * x * x + x) * width * slope_at(points, at) +
                       (3 * x * x - 2 * x * x * x) * std::log(points[at + 1].time) +
                       (x * x * x - x * x) * width * slope_at(points, at + 1);
  return std::sqrt(straight * std::exp(cubic));
}

}  // namespace colltune
