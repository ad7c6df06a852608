// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "colltune/vocabulary/annotation/annotation.h"
#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/names.h"

namespace colltune::speed_of_light {

/// Rounded to nanoseconds. Throws Error(out_of_range) for a time that is no number, negative, or
/// beyond what nanoseconds of 64 bits hold.
[[nodiscard]] std::chrono::nanoseconds to_nanoseconds(Microseconds time);

/// Whose GPUs: what decides which table of bandwidths holds.
enum class Platform { cuda = 0, rocm = 1 };
constexpr std::array<Named<Platform>, 2> enum_names(Platform) {
  return {{{Platform::cuda, "cuda"}, {Platform::rocm, "rocm"}}};
}
constexpr std::string_view enum_title(Platform) { return "platform"; }

/// A device with all of its figures. Bandwidths are in GB/s (10^9 bytes).
struct Device {
  std::string name;
  Platform platform = Platform::cuda;
  std::string architecture;
  int generation = 0;  ///< CUDA: major compute capability; ROCm: 908, 90 (gfx90a), 942, …
  int links = 0;
  double lane = 0;
  double memory = 0;  ///< 0: not known
  Microseconds launch{};
  double nic = 0;
  Microseconds chunk_prep{};
  Microseconds round_trip{};
  Microseconds barrier{};
  Bytes chunk;
  int gpus_per_node = 0;
  bool has_multimem = false;
};

/// The figures of a device: those of XLA's tables (SolGPUCostModel::Config with its coefficient of
/// 0.45, BandwidthSettings; openxla 183fa00cb5), replaced by what the user gives. Links are known
/// for H100, H200, B200 (18) and MI300 (7 Infinity Fabric links); others must be given. Throws
/// Error(invalid_argument) that names the field: a value that is not positive, a platform other
/// than cuda and rocm, an architecture without a known bandwidth where none is given.
[[nodiscard]] Device resolve_device(const DeviceChoice& choice);

/// Bytes per microsecond that a device sends to its peers in one direction: links times lane.
/// Throws Error(invalid_argument) that names the field that is not positive.
[[nodiscard]] double bytes_per_us_to_peers(const Device& device);

}  // namespace colltune::speed_of_light
