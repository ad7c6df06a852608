// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/modes.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace colltune {
namespace {

constexpr std::size_t fewest_values = 12;

/// All spans of values ascend, so no query at a split needs a pass over the values.
double middle_of(std::span<const double> values) {
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// The distance from `center` within which the `count` nearest values lie, some below it and some
/// above it.
double distance_of(std::span<const double> values, double center, std::size_t count) {
  const auto below =
      static_cast<std::size_t>(std::ranges::lower_bound(values, center) - values.begin());
  const auto distance_below = [&](std::size_t i) { return center - values[below - 1 - i]; };
  const auto distance_above = [&](std::size_t i) { return values[below + i] - center; };
  // Bisects for how many of them lie below.
  std::size_t low = count - std::min(count, values.size() - below);
  std::size_t high = std::min(count, below);
  while (low < high) {
    const std::size_t from_below = (low + high) / 2;
    if (distance_below(from_below) < distance_above(count - from_below - 1))
      low = from_below + 1;
    else
      high = from_below;
  }
  return std::max(low > 0 ? distance_below(low - 1) : 0,
                  low < count ? distance_above(count - low - 1) : 0);
}

/// The median distance of the values from their median.
double spread(std::span<const double> values, double median) {
  const std::size_t half = values.size() / 2;
  const double upper = distance_of(values, median, half + 1);
  return values.size() % 2 == 1 ? upper : (distance_of(values, median, half) + upper) / 2;
}

}  // namespace

std::optional<Modes> find_modes(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < fewest_values) return std::nullopt;
  std::vector<double> ascending(values.begin(), values.end());
  std::ranges::sort(ascending);
  const std::span<const double> all(ascending);
  const double size = static_cast<double>(n);
  const double threshold = 7 + 2000 / (size * size);
  const std::size_t smallest_group = (n + 4) / 5;
  std::optional<Modes> found;
  double largest = threshold;
  for (std::size_t split = smallest_group; split + smallest_group <= n; ++split) {
    if (all[split - 1] == all[split]) continue;
    const auto lower = all.first(split);
    const auto upper = all.subspan(split);
    const double low = middle_of(lower);
    const double high = middle_of(upper);
    const double below = spread(lower, low);
    const double above = spread(upper, high);
    const double share_high = static_cast<double>(upper.size()) / size;
    const double within = std::sqrt((1 - share_high) * below * below + share_high * above * above);
    // If values do not vary within a group (a coarse clock), any distance between groups counts.
    const double distance = high - low;
    const bool is_apart = within > 0 ? distance / within > largest : distance > 0 && !found;
    if (!is_apart) continue;
    found = Modes{.low = low, .high = high, .share_high = share_high};
    if (within > 0) largest = distance / within;
  }
  return found;
}

}  // namespace colltune
