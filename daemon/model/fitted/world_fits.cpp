// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/fitted/world_fits.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "colltune/model/fitted/variant_fits.h"
#include "fit_parts.h"

namespace colltune {
namespace {

/// Of one problem, by the number of ranks per node.
using DecisionsOfWorlds = std::map<int, std::vector<const Decision*>>;

/// By key without size and without numbers of ranks.
std::map<TuningKey, DecisionsOfWorlds> problems_of(std::span<const Decision> decisions) {
  std::map<TuningKey, DecisionsOfWorlds> problems;
  for (const Decision& decision : decisions) {
    TuningKey key = decision.key;
    const int ranks_per_node = key.topology.ranks_per_node;
    std::optional<Topology> alike = with_ranks_per_node(key.topology, 1);
    if (!alike || ranks_per_node < 1) continue;
    key.topology = *std::move(alike);
    key.problem.message_size = {};
    problems[std::move(key)][ranks_per_node].push_back(&decision);
  }
  std::erase_if(problems, [](const auto& problem) { return problem.second.size() < 2; });
  return problems;
}

TuningKey key_in_world(TuningKey key, int ranks_per_node, Bytes size) {
  key.topology = *with_ranks_per_node(key.topology, ranks_per_node);
  key.problem.message_size = size;
  return key;
}

/// Powers of two and three times those.
std::vector<int> predicted_numbers(const DecisionsOfWorlds& worlds, int nodes) {
  const std::int64_t most =
      std::min<std::int64_t>(static_cast<std::int64_t>(worlds.rbegin()->first) *
                                 static_cast<std::int64_t>(most_extrapolation),
                             most_counted_ranks / nodes);
  std::set<int> numbers;
  for (std::int64_t number = 2; number <= most; number *= 2) {
    numbers.insert(static_cast<int>(number));
    if (number / 2 * 3 <= most) numbers.insert(static_cast<int>(number / 2 * 3));
  }
  for (const auto& [measured, decisions] : worlds) numbers.erase(measured);
  return {numbers.begin(), numbers.end()};
}

/// The baselines, and what a decision ranks before them. A variant that is proven in no world
/// cannot come first in any, and is not worth its counts.
std::map<Variant, RankedVariant> wanted_of(const DecisionsOfWorlds& worlds) {
  std::map<Variant, RankedVariant> wanted;
  for (const auto& [ranks_per_node, decisions] : worlds)
    for (const Decision* decision : decisions)
      for (const RankedVariant& ranked : decision->ranked) {
        wanted.try_emplace(ranked.variant, ranked);
        if (ranked.is_baseline) break;
      }
  return wanted;
}

/// The counts of one variant in one world.
class CountsOfSizes {
 public:
  /// `first` and `last`: the smallest and the largest size that will be asked for.
  CountsOfSizes(const StepCounts& counts, TuningKey key, const RankedVariant& entry, Bytes first,
                Bytes last)
      : counts_(counts), key_(std::move(key)), entry_(entry), last_(last) {
    const auto lower = ask(first);
    at_last_ = ask(last);
    if (!lower || !at_last_ || lower->steps != at_last_->steps) return;
    const double expected = at_last_->bytes_per_rank / value_of(last) * value_of(first);
    is_even_ = std::abs(lower->bytes_per_rank / expected - 1) < 0.01;
  }

  /// Empty if it is unknown. Making a schedule takes long, so it is asked for anew only where the
  /// steps change with the size.
  [[nodiscard]] std::optional<StepCount> at(Bytes size) const {
    if (!is_even_) return ask(size);
    return StepCount{.steps = at_last_->steps,
                     .bytes_per_rank = at_last_->bytes_per_rank / value_of(last_) * value_of(size)};
  }

 private:
  [[nodiscard]] std::optional<StepCount> ask(Bytes size) const {
    TuningKey key = key_;
    key.problem.message_size = size;
    const auto count = counts_(key, entry_);
    const bool is_known = count && count->steps > 0 && count->bytes_per_rank > 0;
    return is_known ? count : std::nullopt;
  }

  const StepCounts& counts_;
  TuningKey key_;
  const RankedVariant& entry_;
  Bytes last_;
  std::optional<StepCount> at_last_;
  bool is_even_ = false;
};

/// Everything that was measured of one problem.
struct MeasuredWorlds {
  TuningKey key;  ///< without size and numbers of ranks
  std::map<Variant, RankedVariant> entries;
  std::map<Variant, std::vector<WorldTime>> times;  ///< only of variants whose steps are known
  LeftOutErrors of_sizes;
  std::vector<double> of_worlds;  ///< absolute logarithms of measured / predicted, sorted
};

int worlds_in(std::span<const WorldTime> times) {
  std::set<int> worlds;
  for (const WorldTime& one : times) worlds.insert(one.ranks);
  return static_cast<int>(worlds.size());
}

/// Leaves each world out and predicts it from the others.
void add_world_errors(std::span<const WorldTime> times, std::vector<double>& errors) {
  std::set<int> worlds;
  for (const WorldTime& one : times) worlds.insert(one.ranks);
  for (const int left_out : worlds) {
    std::vector<WorldTime> others;
    std::ranges::copy_if(times, std::back_inserter(others),
                         [&](const WorldTime& one) { return one.ranks != left_out; });
    const StepFit fit = fit_steps(others);
    for (const WorldTime& one : times) {
      if (one.ranks != left_out) continue;
      if (const auto predicted = time_in_world(fit, others, one.size, one.count))
        errors.push_back(std::abs(std::log(one.time / *predicted)));
    }
  }
}

MeasuredWorlds gather(const TuningKey& key, const DecisionsOfWorlds& worlds,
                      const StepCounts& counts) {
  MeasuredWorlds found{
      .key = key, .entries = wanted_of(worlds), .times = {}, .of_sizes = {}, .of_worlds = {}};
  for (const auto& [ranks_per_node, decisions] : worlds)
    for (const auto& [variant, points] : curves_of_variants(decisions)) {
      const auto entry = found.entries.find(variant);
      if (entry == found.entries.end()) continue;
      found.of_sizes.add_all(points);
      const CountsOfSizes of_sizes(counts, key_in_world(key, ranks_per_node, {}), entry->second,
                                   points.front().size, points.back().size);
      for (const CurvePoint& point : points)
        if (const auto count = of_sizes.at(point.size))
          found.times[variant].push_back(
              {.ranks = ranks_per_node, .size = point.size, .time = point.time, .count = *count});
    }
  std::erase_if(found.times, [](const auto& one) { return worlds_in(one.second) < 2; });
  for (const auto& [variant, times] : found.times)
    if (worlds_in(times) > 2) add_world_errors(times, found.of_worlds);
  std::ranges::sort(found.of_worlds);
  found.of_sizes.sort();
  return found;
}

FitInterval product(const FitInterval& one, const FitInterval& other) {
  return {.low = one.low * other.low, .high = one.high * other.high};
}

/// The variant's times at the measured sizes, as the model has them in a world of so many ranks.
std::vector<CurvePoint> predicted_points(const MeasuredWorlds& measured, const Variant& variant,
                                         const StepFit& fit, int ranks_per_node,
                                         const StepCounts& counts) {
  const std::vector<WorldTime>& times = measured.times.at(variant);
  std::set<Bytes> sizes;
  for (const WorldTime& one : times) sizes.insert(one.size);
  const CountsOfSizes of_sizes(counts, key_in_world(measured.key, ranks_per_node, {}),
                               measured.entries.at(variant), *sizes.begin(), *sizes.rbegin());
  std::vector<CurvePoint> points;
  for (const Bytes size : sizes) {
    const auto count = of_sizes.at(size);
    if (!count) continue;
    const auto time = time_in_world(fit, times, size, *count);
    if (time && *time > 0 && std::isfinite(*time)) points.push_back({.size = size, .time = *time});
  }
  return points;
}

void add_fits(const MeasuredWorlds& measured, const std::vector<int>& numbers,
              const StepCounts& counts, std::vector<VariantFit>& fits) {
  const FitInterval of_worlds =
      measured.of_worlds.size() >= least_errors ? interval_of(measured.of_worlds) : FitInterval{};
  const auto interval = [&](SizePosition position) {
    return product(of_worlds, interval_at(position, measured.of_sizes, measured.of_sizes));
  };
  const FitInterval inside = interval(SizePosition::between);
  const FitInterval below = interval(SizePosition::below);
  const FitInterval beyond = interval(SizePosition::beyond);
  for (const auto& [variant, times] : measured.times) {
    const StepFit fit = fit_steps(times);
    for (const int number : numbers) {
      const std::vector<CurvePoint> points =
          predicted_points(measured, variant, fit, number, counts);
      if (points.size() < 2) continue;
      fits.push_back({.key = key_in_world(measured.key, number, points.front().size),
                      .variant = variant,
                      .model = std::string(world_model),
                      .segments = segments_of(points),
                      .inside = inside,
                      .below = below,
                      .beyond = beyond});
    }
  }
}

void sort_fits(std::vector<VariantFit>& fits) {
  std::ranges::sort(fits, {}, [](const VariantFit& fit) { return std::tie(fit.key, fit.variant); });
}

}  // namespace

std::optional<Topology> with_ranks_per_node(const Topology& topology, int ranks_per_node) {
  const bool is_even = topology.ranks == topology.nodes * topology.ranks_per_node &&
                       topology.layout_digest == "uniform" && topology.architectures.size() == 1;
  if (!is_even || topology.placement != Placement::dedicated) return {};
  Topology other = topology;
  other.ranks_per_node = ranks_per_node;
  other.ranks = topology.nodes * ranks_per_node;
  other.architectures.front().ranks = other.ranks;
  return other;
}

std::vector<VariantFit> fits_across_worlds(std::span<const Decision> decisions,
                                           const StepCounts& counts) {
  std::vector<VariantFit> fits;
  for (const auto& [key, worlds] : problems_of(decisions)) {
    if (worlds.rbegin()->first > most_counted_ranks / key.topology.nodes) continue;
    add_fits(gather(key, worlds, counts), predicted_numbers(worlds, key.topology.nodes), counts,
             fits);
  }
  sort_fits(fits);
  return fits;
}

std::vector<VariantFit> fits_with_worlds(std::span<const Decision> decisions,
                                         const StepCounts& counts) {
  std::vector<VariantFit> fits = fits_of(decisions);
  std::ranges::move(fits_across_worlds(decisions, counts), std::back_inserter(fits));
  sort_fits(fits);
  return fits;
}

}  // namespace colltune
