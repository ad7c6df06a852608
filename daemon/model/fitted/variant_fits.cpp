// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/fitted/variant_fits.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "fit_parts.h"

namespace colltune {
namespace {

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
    CurvesOfProblem curves{.variants = curves_of_variants(std::move(of_problem)), .errors = {}};
    std::erase_if(curves.variants, [](const auto& curve) { return curve.second.size() < 2; });
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

FittedLine line_at(const VariantFit& fit, Bytes size) {
  const auto line_of = [](const FitSegment& segment) {
    return AlphaBeta{.alpha = segment.alpha, .beta = segment.beta};
  };
  const Bytes first = fit.segments.front().from;
  const Bytes last = fit.segments.back().from;
  if (size < first) {
    // In proportion to the size, where the line would fall below that; never above the first time.
    const AlphaBeta line = line_of(fit.segments.front());
    const double time = line.at(first);
    FittedLine found{.line = line, .position = SizePosition::below, .interval = fit.below};
    if (line.alpha < 0)
      found.line = {.alpha = 0, .beta = time / value_of(first)};
    else if (line.beta < 0)
      found.line = {.alpha = time, .beta = 0};
    return found;
  }
  if (size > last) {
    const double last_time = line_of(fit.segments[fit.segments.size() - 2]).at(last);
    return {.line = line_from_last(last_time, last, line_of(fit.segments.back())),
            .position = SizePosition::beyond,
            .interval = fit.beyond};
  }
  // The last segment whose line holds at this size; at the last size that of the one before.
  const auto above = std::ranges::upper_bound(fit.segments.begin() + 1, fit.segments.end() - 1,
                                              size, {}, &FitSegment::from);
  return {.line = line_of(*(above - 1)), .position = SizePosition::between, .interval = fit.inside};
}

FittedTime predict(const VariantFit& fit, Bytes size) {
  const FittedLine found = line_at(fit, size);
  const double time = found.line.at(size);
  return {.time = time,
          .low = time * found.interval.low,
          .high = time * found.interval.high,
          .evidence = FitEvidence::own_curve,
          .position = found.position};
}

bool reaches(const VariantFit& fit, Bytes size) {
  const std::uint64_t first = fit.segments.front().from.value;
  const std::uint64_t last = fit.segments.back().from.value;
  // Divided, not multiplied: sizes may be as large as 2^64.
  return size.value >= first / most_extrapolation && size.value / most_extrapolation <= last;
}

}  // namespace colltune
