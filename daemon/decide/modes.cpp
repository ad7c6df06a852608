// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/modes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "colltune/decide/statistics.h"

namespace colltune {
namespace {

constexpr std::size_t fewest_values = 12;

/// Median distance of the values (ascending) from their median.
double spread(std::span<const double> values, double median) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - median));
  return median_of(distances);
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
    const double low = median_of(lower);
    const double high = median_of(upper);
    const double below = spread(lower, low);
    const double above = spread(upper, high);
    const double share_high = static_cast<double>(upper.size()) / size;
    const double within = std::sqrt((1 - share_high) * below * below + share_high * above * above);
    // Without any spread within (a coarse clock), whatever lies apart is apart.
    const double distance = high - low;
    const bool is_apart = within > 0 ? distance / within > largest : distance > 0 && !found;
    if (!is_apart) continue;
    found = Modes{.low = low, .high = high, .share_high = share_high};
    if (within > 0) largest = distance / within;
  }
  return found;
}

}  // namespace colltune
