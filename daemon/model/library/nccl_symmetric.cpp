// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/library/nccl_symmetric.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "colltune/vocabulary/error.h"

namespace colltune::library_models {
namespace {

using Microseconds = std::chrono::duration<double, std::micro>;

/// NCCL's figures of an architecture. Its GB are 2^30 bytes.
struct Figures {
  double low_latency_base_us;
  double base_us;
  double block;           ///< GB/s of one block
  double peak;            ///< GB/s of all
  double multicast_peak;  ///< of loads and stores by multicast
  int multicast_blocks;   ///< over the ranks: the most that multicast takes
};
constexpr Figures hopper{4.5, 7.8, 65, 320, 480, 16};
constexpr Figures blackwell{11, 19.5, 55, 600, 1000, 32};
constexpr int blackwell_capability = 100;
constexpr int most_blocks = 64;
constexpr double bytes_per_us_of_gb = 1073741824.0 / 1e6;
constexpr double low_latency_bus_bytes = 9;  // for each byte of each rank
constexpr double most_low_latency_bus = 2147483648.0;
constexpr double multicast_of_low_latency = 1.1;
constexpr double as_good_as_best = 1.025;
constexpr double price_of_block = 0.025;

double softplus(double x) { return x > 700 ? x : std::log1p(std::exp(x)); }

/// About the lesser of x and `most`; `width` is how soft.
double softmin(double x, double most, double width) {
  return most - width * std::log1p((std::exp(most / width) - 1) * std::exp(-x / width));
}

bool uses_multicast(SymmetricKernel kernel) {
  return kernel == SymmetricKernel::ag_ll_mc || kernel == SymmetricKernel::ld_mc_st_mc;
}
bool has_low_latency(SymmetricKernel kernel) {
  return kernel == SymmetricKernel::ag_ll || kernel == SymmetricKernel::ag_ll_mc;
}

double bus_bytes(SymmetricKernel kernel, double size, int ranks) {
  switch (kernel) {
    case SymmetricKernel::ag_ll:
    case SymmetricKernel::ag_ll_mc:
      return ranks * size * low_latency_bus_bytes;
    case SymmetricKernel::ld_st:
      return 2 * size * (ranks - 1) / ranks;
    case SymmetricKernel::ld_mc_st_mc:
      break;
  }
  return size / ranks + size;
}

Microseconds time_of(SymmetricKernel kernel, double bus, int ranks, int blocks,
                     const Figures& figures) {
  double factor = 1;
  if (kernel == SymmetricKernel::ag_ll_mc) factor = multicast_of_low_latency;
  if (kernel == SymmetricKernel::ld_mc_st_mc) factor = ranks;
  const double peak =
      kernel == SymmetricKernel::ld_mc_st_mc ? figures.multicast_peak : figures.peak;
  const double bandwidth =
      softmin(blocks * figures.block * factor, peak, figures.block) * bytes_per_us_of_gb;
  const double base = has_low_latency(kernel) ? figures.low_latency_base_us : figures.base_us;
  return Microseconds(base + softplus(bus / bandwidth - 1));
}

SymmetricPrediction predict_kernel(SymmetricKernel kernel, double bus, int ranks,
                                   const Figures& figures) {
  const int most = kernel == SymmetricKernel::ld_mc_st_mc
                       ? std::max(1, (figures.multicast_blocks + ranks - 1) / ranks)
                       : most_blocks;
  std::vector<Microseconds> times;
  for (int blocks = 1; blocks <= most; ++blocks)
    times.push_back(time_of(kernel, bus, ranks, blocks, figures));
  const Microseconds enough = *std::ranges::min_element(times) * as_good_as_best;
  const auto fewest =
      std::ranges::find_if(times, [&](Microseconds time) { return time <= enough; });
  return {
      .kernel = kernel, .blocks = static_cast<int>(fewest - times.begin()) + 1, .time = *fewest};
}

}  // namespace

SymmetricPrediction predict_nccl_2_30_all_reduce(Bytes message, int ranks, int compute_capability,
                                                 bool has_multicast) {
  if (ranks < 2)
    throw Error(StatusCode::invalid_argument, fmt::format("{} ranks; at least 2", ranks));
  if (compute_capability < 90)
    throw Error(StatusCode::invalid_argument,
                fmt::format("compute capability {}; NCCL 2.30's figures of symmetric kernels are "
                            "known for 90 and later",
                            compute_capability));
  const Figures& figures = compute_capability < blackwell_capability ? hopper : blackwell;
  const auto size = static_cast<double>(message.value);
  std::optional<SymmetricPrediction> best;
  double least = 0;
  for (const auto& named : enum_names(SymmetricKernel{})) {
    if (uses_multicast(named.value) && (!has_multicast || ranks <= 2)) continue;
    const double bus = bus_bytes(named.value, size, ranks);
    if (has_low_latency(named.value) && bus >= most_low_latency_bus) continue;
    const SymmetricPrediction one = predict_kernel(named.value, bus, ranks, figures);
    const double price = one.time.count() * (1 + price_of_block * one.blocks);
    if (best && price >= least) continue;
    best = one;
    least = price;
  }
  return *best;  // ld_st is always there
}

}  // namespace colltune::library_models
