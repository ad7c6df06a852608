// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/size_ranges.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "colltune/vocabulary/composition.h"

namespace colltune {
namespace {

constexpr std::uint64_t unbounded = std::numeric_limits<std::uint64_t>::max();

/// The sizes from first to last, both included.
struct Interval {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

Interval sizes_of(const Limits& limits) {
  return {limits.min_message.value,
          limits.max_message.value == 0 ? unbounded : limits.max_message.value};
}

/// A reader of a table does not know which members it is for.
bool is_composed(const RankedVariant& ranked) { return is_for_certain_members(ranked.variant); }

const RankedVariant* first_that_runs(const Decision& decision, Interval sizes) {
  for (const auto& ranked : decision.ranked) {
    if (is_composed(ranked)) continue;
    const Interval allowed = sizes_of(ranked.limits);
    if (allowed.first <= sizes.first && sizes.last <= allowed.last) return &ranked;
  }
  return nullptr;
}

/// Splits `sizes` where the limits of a ranked variant begin or end.
std::vector<Interval> cut_at_limits(const Decision& decision, Interval sizes) {
  std::vector<std::uint64_t> starts{sizes.first};
  const auto add = [&](std::uint64_t start) {
    if (start > sizes.first && start <= sizes.last) starts.push_back(start);
  };
  for (const auto& ranked : decision.ranked) {
    if (is_composed(ranked)) continue;
    const Interval allowed = sizes_of(ranked.limits);
    add(allowed.first);
    if (allowed.last != unbounded) add(allowed.last + 1);
  }
  std::ranges::sort(starts);
  const auto repeated = std::ranges::unique(starts);
  starts.erase(repeated.begin(), repeated.end());
  std::vector<Interval> pieces;
  for (std::size_t i = 0; i < starts.size(); ++i)
    pieces.push_back({starts[i], i + 1 < starts.size() ? starts[i + 1] - 1 : sizes.last});
  return pieces;
}

/// Appends a range, or extends the last one if they differ only in size.
void append(std::vector<SizeRange>& ranges, SizeRange next) {
  if (!ranges.empty()) {
    SizeRange& last = ranges.back();
    if (last.max && last.max->value + 1 == next.min.value && last.winner == next.winner &&
        last.is_baseline == next.is_baseline && last.extrapolated == next.extrapolated) {
      last.max = next.max;
      for (const Bytes size : next.measured_sizes)
        if (last.measured_sizes.back() != size) last.measured_sizes.push_back(size);
      return;
    }
  }
  ranges.push_back(std::move(next));
}

void append_sizes(std::vector<SizeRange>& ranges, const Decision& decision, Interval sizes,
                  bool extrapolated) {
  for (const Interval piece : cut_at_limits(decision, sizes)) {
    const RankedVariant* ranked = first_that_runs(decision, piece);
    if (!ranked) continue;
    SizeRange range{.min = {piece.first},
                    .max = {},
                    .winner = ranked->variant,
                    .is_baseline = ranked->is_baseline,
                    .extrapolated = extrapolated,
                    .measured_sizes = {decision.key.problem.message_size}};
    if (piece.last != unbounded) range.max = Bytes{piece.last};
    append(ranges, std::move(range));
  }
}

}  // namespace

std::uint64_t border_between_sizes(std::uint64_t a, std::uint64_t b) {
  const long double mean =
      std::sqrt(static_cast<long double>(a)) * std::sqrt(static_cast<long double>(b));
  // Roots of squares are exact; other roots may come out one ulp below an integer.
  const auto floor = static_cast<std::uint64_t>(mean * (1 + 1e-18L));
  return std::clamp(floor, a, b - 1);
}

std::vector<SizeRange> size_ranges(std::span<const Decision* const> decisions) {
  std::vector<SizeRange> ranges;
  if (decisions.empty()) return ranges;
  const auto size_at = [&](std::size_t i) { return decisions[i]->key.problem.message_size.value; };
  const std::size_t last = decisions.size() - 1;
  if (size_at(0) > 0) append_sizes(ranges, *decisions[0], {0, size_at(0) - 1}, true);
  std::uint64_t first = size_at(0);
  for (std::size_t i = 0; i <= last; ++i) {
    const std::uint64_t end = i < last ? border_between_sizes(size_at(i), size_at(i + 1)) : size_at(i);
    append_sizes(ranges, *decisions[i], {first, end}, false);
    first = end + 1;
  }
  append_sizes(ranges, *decisions[last], {first, unbounded}, true);
  return ranges;
}

}  // namespace colltune
