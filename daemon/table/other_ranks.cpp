// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "other_ranks.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "colltune/model/fitted/variant_fits.h"
#include "colltune/model/fitted/world_fits.h"
#include "colltune/vocabulary/error.h"
#include "rank_around.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;

/// What the decisions next to the asked size say of a variant, in any of the measured worlds.
struct KnownVariant {
  RankedVariant entry;
  bool is_proven = false;
};

std::optional<KnownVariant> find_around(const PredictedWorld& world, const Variant& variant,
                                        Bytes size) {
  std::optional<KnownVariant> known;
  for (const Curve* curve : world.measured) {
    const Neighbours around = find_neighbours(*curve, size);
    for (const Decision* decision : {around.lower, around.upper}) {
      if (decision == nullptr) continue;
      const auto found = std::ranges::find(decision->ranked, variant, &RankedVariant::variant);
      if (found == decision->ranked.end()) continue;
      if (!known) known = KnownVariant{.entry = *found};
      known->is_proven = known->is_proven || is_proven(*decision, variant);
    }
  }
  return known;
}

struct PredictedVariant {
  RankedVariant entry;
  FittedTime time;
  bool is_proven = false;
  std::string model;
  std::vector<Bytes> sizes;  ///< measured ones around the asked one
};

std::vector<Bytes> sizes_around(const VariantFit& fit, Bytes size) {
  const auto above = std::ranges::lower_bound(fit.segments, size, {}, &FitSegment::from);
  if (above == fit.segments.end()) return {fit.segments.back().from};
  if (above == fit.segments.begin() || above->from == size) return {above->from};
  return {(above - 1)->from, above->from};
}

std::vector<PredictedVariant> predicted_variants(const PredictedWorld& world, const Asked& asked) {
  const Bytes size = asked.problem.message_size;
  std::vector<PredictedVariant> found;
  for (const VariantFit* fit : *world.fits) {
    if (!reaches(*fit, size)) continue;
    std::optional<KnownVariant> known = find_around(world, fit->variant, size);
    if (!known || !why_not(known->entry, asked).empty()) continue;
    const FittedTime time = predict(*fit, size);
    if (!(time.time > 0)) continue;
    RankedVariant entry = std::move(known->entry);
    entry.median = nanoseconds(std::llround(time.time));
    entry.low = nanoseconds(std::llround(std::floor(time.low)));
    entry.high = nanoseconds(std::llround(std::ceil(time.high)));
    entry.samples = entry.verified_calls = 0;
    found.push_back({.entry = std::move(entry),
                     .time = time,
                     .is_proven = known->is_proven,
                     .model = fit->model,
                     .sizes = sizes_around(*fit, size)});
  }
  return found;
}

/// Sets the speed-ups, and puts the variants into their order.
void rank_by_time(std::vector<PredictedVariant>& variants) {
  double baseline = 0;
  for (const PredictedVariant& one : variants)
    if (one.entry.is_baseline && (baseline == 0 || one.time.time < baseline))
      baseline = one.time.time;
  const auto group = [&](const PredictedVariant& one) {
    if (baseline == 0 || one.entry.is_baseline) return 1;
    return one.is_proven && one.time.time < baseline ? 0 : 2;
  };
  for (PredictedVariant& one : variants)
    one.entry.speedup_over_baseline = baseline > 0 ? baseline / one.time.time : 0;
  std::ranges::sort(variants, [&](const PredictedVariant& one, const PredictedVariant& other) {
    return std::tuple(group(one), one.time.time) < std::tuple(group(other), other.time.time);
  });
}

Verdict verdict_on(const std::vector<PredictedVariant>& variants) {
  const auto baseline = std::ranges::find_if(
      variants, [](const PredictedVariant& one) { return one.entry.is_baseline; });
  if (baseline == variants.end()) return Verdict::no_baseline;
  const bool is_clear = variants.front().time.high < baseline->time.low;
  return is_clear ? Verdict::displaced : Verdict::undecided;
}

/// For example "2 and 4".
std::string measured_numbers(const PredictedWorld& world) {
  std::set<int> numbers;
  for (const Curve* curve : world.measured) numbers.insert(curve->topology->ranks_per_node);
  std::string text;
  std::size_t i = 0;
  for (const int number : numbers) {
    if (i > 0) text += i + 1 == numbers.size() ? " and " : ", ";
    text += std::to_string(number);
    ++i;
  }
  return text;
}

std::string reason_of(const PredictedWorld& world) {
  return "nothing was measured with " + std::to_string(world.key.topology.ranks_per_node) +
         " rank(s) per node: predicted from measurements with " + measured_numbers(world) +
         ", by the steps of each variant";
}

}  // namespace

std::vector<PredictedWorld> predicted_worlds(const std::vector<const Curve*>& measured,
                                             int ranks_per_node, const FitsOfWorlds& fits) {
  std::map<TuningKey, PredictedWorld> worlds;
  NumericClass strictest = NumericClass::any;
  for (const Curve* curve : measured) {
    std::optional<Topology> topology = with_ranks_per_node(*curve->topology, ranks_per_node);
    if (!topology || !curve->apart.empty()) continue;
    TuningKey key = curve->decisions.front()->key;
    key.problem.message_size = {};
    key.topology = *std::move(topology);
    const auto found = fits.find(key);
    if (found == fits.end()) continue;
    strictest = std::max(strictest, key.problem.numeric_class);
    PredictedWorld& world = worlds[key];
    world.key = key;
    world.fits = &found->second;
    world.measured.push_back(curve);
  }
  std::vector<PredictedWorld> kept;
  for (auto& [key, world] : worlds)
    if (key.problem.numeric_class == strictest) kept.push_back(std::move(world));
  return kept;
}

LookupAnswer answer_for_other_ranks(const PredictedWorld& world, const LookupQuery& query) {
  Asked asked = rounded(query.problem, world.key.topology.ranks);
  asked.takes_composed = false;
  asked.form = query.form;
  std::vector<PredictedVariant> variants = predicted_variants(world, asked);
  if (variants.empty())
    throw Error(StatusCode::not_found,
                describe(asked.problem) + " on " + describe(world.key.topology) + ": " +
                    reason_of(world) + "; but none that can run it is predicted at this size, or " +
                    std::to_string(most_extrapolation) + " times beyond or below");
  rank_by_time(variants);
  const PredictedVariant& first = variants.front();
  LookupAnswer answer;
  answer.source = Source::predicted;
  answer.match = MatchLevel::other_ranks;
  answer.measured_sizes = first.sizes;
  answer.prediction =
      TimePrediction{.low = first.entry.low, .high = first.entry.high, .model = first.model};
  answer.decision = {.key = world.key,
                     .family = world.measured.front()->decisions.front()->family,
                     .ranked = {},
                     .reason = reason_of(world),
                     .sweep_uuid = "",
                     .verdict = verdict_on(variants),
                     .status = DecisionStatus::provisional};
  answer.decision.key.problem = asked.problem;
  for (PredictedVariant& one : variants) answer.decision.ranked.push_back(std::move(one.entry));
  return answer;
}

}  // namespace colltune
