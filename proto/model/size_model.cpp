// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/size_model.h"

#include <algorithm>
#include <cmath>

namespace colltune {

using std::chrono::nanoseconds;

double position_between(Bytes lower, Bytes upper, Bytes at) {
  if (upper <= lower || at <= lower) return 0;
  if (at >= upper) return 1;
  const auto low = static_cast<double>(lower.value);
  const auto high = static_cast<double>(upper.value);
  const auto here = static_cast<double>(at.value);
  return lower.value == 0 ? here / high : std::log(here / low) / std::log(high / low);
}

double interpolate_precisely(TimedSize lower, TimedSize upper, Bytes at) {
  const double position = position_between(lower.size, upper.size, at);
  const auto low = static_cast<double>(lower.time.count());
  const auto high = static_cast<double>(upper.time.count());
  const bool has_logarithms = low > 0 && high > 0 && lower.size.value > 0;
  return has_logarithms ? low * std::pow(high / low, position) : low + (high - low) * position;
}

nanoseconds interpolate_time(TimedSize lower, TimedSize upper, Bytes at) {
  const double time = interpolate_precisely(lower, upper, at);
  const auto [least, most] = std::minmax(lower.time, upper.time);
  return std::clamp(nanoseconds(std::llround(time)), least, most);
}

nanoseconds extrapolate_time(TimedSize nearest, Bytes at) {
  if (at <= nearest.size || nearest.size.value == 0) return nearest.time;
  const double growth = static_cast<double>(at.value) / static_cast<double>(nearest.size.value);
  const double time = static_cast<double>(nearest.time.count()) * growth;
  // A size of 2^63 over a measured one of 1 byte is no time that fits; say "forever".
  if (time >= static_cast<double>(nanoseconds::max().count())) return nanoseconds::max();
  return nanoseconds(std::llround(time));
}

double interpolate_ratio(double lower, double upper, double position) {
  if (lower <= 0 || upper <= 0) return 0;
  return lower * std::pow(upper / lower, position);
}

}  // namespace colltune
