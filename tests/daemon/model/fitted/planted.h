// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "colltune/model/fitted/alpha_beta.h"

namespace colltune::testing {

/// The nine sizes of a bring-up sweep: 64 B to 4 MiB by factors of 4.
inline std::vector<Bytes> nine_sizes() {
  std::vector<Bytes> sizes;
  for (std::uint64_t size = 64; size <= 4u << 20; size *= 4) sizes.push_back({size});
  return sizes;
}

/// A factor around 1, log-normal with the given deviation. Box and Muller's transformation, as
/// std::normal_distribution differs between standard libraries.
inline double noise_factor(std::mt19937_64& random, double deviation) {
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return std::exp(deviation * radius * std::cos(2 * 3.14159265358979323846 * uniform()));
}

/// The times of `line` at `sizes`, with noise.
template <class Line>
std::vector<CurvePoint> planted(const std::vector<Bytes>& sizes, const Line& line,
                                std::mt19937_64& random, double deviation = 0) {
  std::vector<CurvePoint> points;
  for (const Bytes size : sizes)
    points.push_back({size, line(size) * noise_factor(random, deviation)});
  return points;
}

}  // namespace colltune::testing
