// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "ranking.h"

#include <algorithm>

#include "colltune/model/size_model.h"

namespace colltune {
namespace {

constexpr auto is_baseline = [](const RankedVariant& ranked) { return ranked.is_baseline; };

const RankedVariant* find_variant(const Decision& decision, const Variant& variant) {
  const auto found = std::ranges::find(decision.ranked, variant, &RankedVariant::variant);
  return found == decision.ranked.end() ? nullptr : &*found;
}

/// Moves `winner` to the front; the others keep their order.
void put_first(std::vector<RankedVariant>& ranked, std::vector<RankedVariant>::iterator winner) {
  std::rotate(ranked.begin(), winner, winner + 1);
}

RankedVariant interpolate(const RankedVariant& low, const RankedVariant& high, Bytes low_size,
                          Bytes high_size, Bytes at) {
  RankedVariant out = low;
  const auto between = [&](auto field) {
    return interpolate_time({low_size, low.*field}, {high_size, high.*field}, at);
  };
  out.median = between(&RankedVariant::median);
  out.low = between(&RankedVariant::low);
  out.high = between(&RankedVariant::high);
  out.speedup_over_baseline =
      interpolate_ratio(low.speedup_over_baseline, high.speedup_over_baseline,
                        position_between(low_size, high_size, at));
  out.samples = std::min(low.samples, high.samples);
  out.verified_calls = std::min(low.verified_calls, high.verified_calls);
  out.rounding = std::max(low.rounding, high.rounding);
  out.numeric_class = std::min(low.numeric_class, high.numeric_class);
  return out;
}

/// The first of `ranked` (sorted by median) that won at a neighbour and beats the baseline at both.
std::vector<RankedVariant>::iterator find_safe_winner(std::vector<RankedVariant>& ranked,
                                                      const Decision& lower, const Decision& upper,
                                                      bool has_baseline) {
  return std::ranges::find_if(ranked, [&](const RankedVariant& candidate) {
    if (candidate.is_baseline && has_baseline) return false;
    const bool won = candidate.variant == lower.ranked.front().variant ||
                     candidate.variant == upper.ranked.front().variant;
    if (!won || !has_baseline) return won;
    return find_variant(lower, candidate.variant)->speedup_over_baseline > 1 &&
           find_variant(upper, candidate.variant)->speedup_over_baseline > 1;
  });
}

}  // namespace

std::string why_not(const RankedVariant& variant, const Asked& asked) {
  if (variant.numeric_class < asked.problem.numeric_class)
    return "guarantees numeric class " + std::string(name_of(variant.numeric_class)) + " only";
  return why_outside(variant.limits, asked.problem, asked.ranks);
}

Ranking rank_at(const Decision& decision, const Asked& asked) {
  Ranking out;
  out.ranked.reserve(decision.ranked.size());
  for (const RankedVariant& variant : decision.ranked)
    if (why_not(variant, asked).empty()) out.ranked.push_back(variant);
  if (out.ranked.empty()) return out;
  if (out.ranked.front().variant == decision.ranked.front().variant) {
    out.reason = decision.reason;
    return out;
  }
  // "Sorted by median" holds from the second entry on, and the first one has fallen.
  const auto baseline = std::ranges::find_if(out.ranked, is_baseline);
  if (baseline != out.ranked.end()) {
    const auto winner = std::ranges::find_if(out.ranked, [&](const RankedVariant& candidate) {
      return candidate.is_baseline || candidate.high < baseline->low;
    });
    put_first(out.ranked, winner);
  }
  out.reason = "the winner " + to_string(decision.ranked.front().variant) + " does not apply (" +
               why_not(decision.ranked.front(), asked) + "); best of those that do";
  return out;
}

Ranking rank_between(const Decision& lower, const Decision& upper, const Asked& asked) {
  const Bytes low_size = lower.key.problem.message_size;
  const Bytes high_size = upper.key.problem.message_size;
  Ranking out;
  for (const RankedVariant& low : lower.ranked) {
    const RankedVariant* high = find_variant(upper, low.variant);
    if (high == nullptr || !why_not(low, asked).empty() || !why_not(*high, asked).empty()) continue;
    out.ranked.push_back(interpolate(low, *high, low_size, high_size, asked.problem.message_size));
  }
  if (out.ranked.empty()) return out;
  std::ranges::stable_sort(out.ranked, {}, &RankedVariant::median);
  const std::string where = "between " + format_bytes(low_size) + " and " + format_bytes(high_size);
  const auto baseline = std::ranges::find_if(out.ranked, is_baseline);
  const bool has_baseline = baseline != out.ranked.end();
  const auto winner = find_safe_winner(out.ranked, lower, upper, has_baseline);
  if (winner != out.ranked.end()) {
    put_first(out.ranked, winner);
    out.reason = where + ": won at a neighbouring size" +
                 (has_baseline ? " and beats the baseline at both" : "; there is no baseline");
  } else if (has_baseline) {
    put_first(out.ranked, baseline);
    out.reason = where + ": no winner of a neighbouring size beats the baseline at both";
  } else {
    out.reason = where + ": the fastest by interpolation; there is no baseline";
  }
  return out;
}

Ranking rank_beyond(const Decision& nearest, const Asked& asked) {
  Ranking out = rank_at(nearest, asked);
  const Bytes size = nearest.key.problem.message_size;
  for (RankedVariant& variant : out.ranked) {
    for (const auto field : {&RankedVariant::median, &RankedVariant::low, &RankedVariant::high})
      variant.*field = extrapolate_time({size, variant.*field}, asked.problem.message_size);
  }
  out.reason = "nearest measured size " + format_bytes(size) + ": " + out.reason;
  return out;
}

}  // namespace colltune
