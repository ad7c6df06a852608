// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/plan/ring_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "colltune/model/ring/ring_parameters.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

constexpr std::string_view chunk_name = "chunk";
constexpr std::string_view slots_name = "slots";
// The rules are of all-reduces. On GPUs a ring that goes both ways has a name of its own.
constexpr std::string_view ring_name = ".all_reduce_ring";
// What a chunk's owner has written is still in its own cache when the neighbour reads it.
constexpr std::int64_t processor_bytes_in_flight = 512 << 10;
constexpr std::string_view gpu_architecture = "sm_";

bool is_on_gpu(std::string_view implementation) { return implementation.starts_with("cuda."); }

RingSetting setting_for(const TuningKey& key, std::string_view implementation) {
  RingSetting setting{.ranks = static_cast<std::uint64_t>(key.topology.ranks)};
  if (!is_on_gpu(implementation)) {
    setting.overrides.max_bdp_bytes = processor_bytes_in_flight;
    setting.overrides.staging_bytes = processor_bytes_in_flight;
  } else if (const auto& kinds = key.topology.architectures;
             !kinds.empty() && kinds.front().architecture.starts_with(gpu_architecture)) {
    setting.architecture = ring_architecture_of(kinds.front().architecture);
  }
  return setting;
}

/// The variant's number called `name`; empty if it has none.
std::optional<std::int64_t> number_of(const Variant& variant, std::string_view name) {
  for (const Parameter& parameter : variant.parameters)
    if (parameter.name == name)
      if (const auto* const number = std::get_if<std::int64_t>(&parameter.value)) return *number;
  return std::nullopt;
}

std::optional<RingPoint> point_of(const Variant& variant) {
  if (variant.implementation.find(ring_name) == std::string::npos) return std::nullopt;
  const auto chunk = number_of(variant, chunk_name);
  const auto slots = number_of(variant, slots_name);
  if (!chunk || !slots) return std::nullopt;
  return RingPoint{.chunk = *chunk, .slots = *slots};
}

/// The variant without what is searched for.
Variant others_of(Variant variant) {
  std::erase_if(variant.parameters, [](const Parameter& parameter) {
    return parameter.name == chunk_name || parameter.name == slots_name;
  });
  return variant;
}

/// The variants of an implementation that differ in chunk and slots alone.
struct Settings {
  Variant others;
  std::vector<const PlannedVariant*> members;
  std::vector<RingPoint> points;  ///< of the members
};

/// The largest time if nothing is known.
std::chrono::nanoseconds least_forecast(const Settings& settings) {
  auto least = std::chrono::nanoseconds::max();
  for (const PlannedVariant* const member : settings.members)
    if (member->forecast) least = std::min(least, member->forecast->time);
  return least;
}

}  // namespace

RingPoint ring_start(const TuningKey& key, std::string_view implementation) {
  const RingSetting setting = setting_for(key, implementation);
  const auto found = ring_parameters(setting, key.problem.message_size);
  if (!found) return {};  // not of the default rules: they leave nothing untuned
  const std::uint64_t shards = nearest_power_of_two(setting.ranks);
  const std::uint64_t depth = std::max(found->chunks / shards, std::uint64_t{1});
  const std::uint64_t chunk = found->chunk.value * (is_on_gpu(implementation) ? 1 : shards);
  return {.chunk = static_cast<std::int64_t>(chunk), .slots = static_cast<std::int64_t>(depth)};
}

RingSearch::RingSearch(std::vector<RingPoint> grid, RingPoint start, std::uint64_t message)
    : grid_(std::move(grid)), message_(message), times_(grid_.size()) {
  if (grid_.empty()) throw Error(StatusCode::invalid_argument, "a search over no settings");
  centre_ = index_of(nearest(start, [](const RingPoint&) { return true; }).front());
}

double RingSearch::bytes(const RingPoint& point) const {
  const auto bytes =
      static_cast<double>(point.chunk > 0 ? static_cast<std::uint64_t>(point.chunk) : message_);
  return std::max(bytes, 1.0);
}

/// In powers of two. A step of the chunk is farther than any of the slots.
double RingSearch::distance(const RingPoint& a, const RingPoint& b) const {
  const auto slots = [](const RingPoint& point) {
    return std::log2(static_cast<double>(std::max(point.slots, std::int64_t{1})));
  };
  return 16 * std::abs(std::log2(bytes(a)) - std::log2(bytes(b))) + std::abs(slots(a) - slots(b));
}

template <class Allows>
std::vector<RingPoint> RingSearch::nearest(const RingPoint& to, Allows allows) const {
  std::vector<RingPoint> found;
  std::ranges::copy_if(grid_, std::back_inserter(found), allows);
  std::ranges::stable_sort(found, {}, [&](const RingPoint& one) { return distance(one, to); });
  return found;
}

std::vector<RingPoint> RingSearch::neighbours() const {
  const RingPoint at = centre();
  std::vector<RingPoint> smaller =
      nearest(at, [&](const RingPoint& one) { return bytes(one) < bytes(at); });
  std::vector<RingPoint> larger =
      nearest(at, [&](const RingPoint& one) { return bytes(one) > bytes(at); });
  for (std::vector<RingPoint>* const side : {&smaller, &larger})
    std::erase_if(*side, [&, next = side->empty() ? 0 : bytes(side->front())](
                             const RingPoint& one) { return bytes(one) != next; });
  const std::vector<RingPoint> alike =
      nearest(at, [&](const RingPoint& one) { return bytes(one) == bytes(at) && one != at; });
  // The first of each side first: they tell in which direction to go.
  std::vector<RingPoint> found;
  const auto take = [&](const std::vector<RingPoint>& from, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, from.size()); ++i) found.push_back(from[i]);
  };
  take(smaller, 0, 1);
  take(larger, 0, 1);
  take(alike, 0, alike.size());
  take(smaller, 1, smaller.size());
  take(larger, 1, larger.size());
  return found;
}

std::optional<RingPoint> RingSearch::next() const {
  if (!times_[centre_]) return centre();
  for (const RingPoint& one : neighbours())
    if (!times_[index_of(one)]) return one;
  return std::nullopt;
}

std::size_t RingSearch::index_of(const RingPoint& point) const {
  const auto place = std::ranges::find(grid_, point);
  if (place == grid_.end())
    throw Error(StatusCode::invalid_argument, "chunk " + std::to_string(point.chunk) + " with " +
                                                  std::to_string(point.slots) +
                                                  " slots is not of this search");
  return static_cast<std::size_t>(place - grid_.begin());
}

void RingSearch::keep(const RingPoint& point, double time) {
  const std::size_t index = index_of(point);
  times_[index] = time;
  if (!times_[centre_] || time < *times_[centre_]) centre_ = index;
}

std::vector<std::string> keep_near_ring_start(Cell& cell) {
  std::map<std::string, std::vector<Settings>> implementations;
  for (const PlannedVariant& planned : cell.variants) {
    const auto point = point_of(planned.variant);
    if (!point || planned.is_baseline || planned.is_twin) continue;
    auto& all = implementations[planned.variant.implementation];
    Variant others = others_of(planned.variant);
    auto place = std::ranges::find(all, others, &Settings::others);
    if (place == all.end())
      place = all.insert(all.end(), {.others = std::move(others), .members = {}, .points = {}});
    place->members.push_back(&planned);
    place->points.push_back(*point);
  }
  std::set<Variant> left_out;
  for (const auto& [name, all] : implementations) {
    // Where earlier sweeps say anything, they say with which other settings.
    const Settings& leading = *std::ranges::min_element(all, {}, least_forecast);
    RingSearch search(leading.points, ring_start(cell.key, name),
                      cell.key.problem.message_size.value);
    for (std::size_t i = 0; i < leading.members.size(); ++i)
      if (const auto& forecast = leading.members[i]->forecast)
        search.keep(leading.points[i], static_cast<double>(forecast->time.count()));
    for (const Settings& settings : all) {
      const RingSearch here(settings.points, search.centre(), cell.key.problem.message_size.value);
      std::vector<RingPoint> kept{here.centre()};
      if (&settings == &leading) std::ranges::copy(search.neighbours(), std::back_inserter(kept));
      for (std::size_t i = 0; i < settings.members.size(); ++i)
        if (std::ranges::find(kept, settings.points[i]) == kept.end())
          left_out.insert(settings.members[i]->variant);
    }
  }
  std::vector<std::string> printed;
  std::erase_if(cell.variants, [&](const PlannedVariant& planned) {
    if (!left_out.contains(planned.variant)) return false;
    printed.push_back(to_string(planned.variant));
    return true;
  });
  return printed;
}

}  // namespace colltune
