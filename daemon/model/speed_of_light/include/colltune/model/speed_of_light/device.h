// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/names.h"

namespace colltune::speed_of_light {

/// A modelled time. Models answer in fractions of a microsecond, which nanoseconds would round.
using Microseconds = std::chrono::duration<double, std::micro>;

/// Rounded to nanoseconds. Throws Error(out_of_range) for a time that is no number, negative, or
/// beyond what nanoseconds of 64 bits hold.
[[nodiscard]] std::chrono::nanoseconds to_nanoseconds(Microseconds time);

/// Whose GPUs: what decides which table of bandwidths holds.
enum class Platform { cuda = 0, rocm = 1 };
constexpr std::array<Named<Platform>, 2> enum_names(Platform) {
  return {{{Platform::cuda, "cuda"}, {Platform::rocm, "rocm"}}};
}
constexpr std::string_view enum_title(Platform) { return "platform"; }

/// A device as a user names it: what is given replaces the tables' value. It is read from JSON, so
/// its numbers are plain and have their unit in the name. GB are 10^9 bytes.
struct DeviceChoice {
  std::string name;          ///< "NVIDIA H100 80GB HBM3"; any other name has the common values
  std::string platform;      ///< "cuda" or "rocm"
  std::string architecture;  ///< "sm_90", "gfx942"
  std::optional<int> links;  ///< active links of each device to its peers
  std::optional<double> lane_gb_per_s;    ///< one direction of one link
  std::optional<double> memory_gb_per_s;  ///< of the device's memory; for the HBM term
  std::optional<double> launch_us;
  std::optional<double> nic_gb_per_s;
  std::optional<double> chunk_prep_us;
  std::optional<double> round_trip_us;
  std::optional<double> barrier_us;
  std::optional<std::uint64_t> chunk_bytes;
  std::optional<int> gpus_per_node;
  std::optional<bool> multimem;  ///< the kernels may use multicast memory [false]
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, DeviceChoice>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("name", self.name);
  visit("platform", self.platform);
  visit("architecture", self.architecture);
  visit("links", self.links);
  visit("lane_gb_per_s", self.lane_gb_per_s);
  visit("memory_gb_per_s", self.memory_gb_per_s);
  visit("launch_us", self.launch_us);
  visit("nic_gb_per_s", self.nic_gb_per_s);
  visit("chunk_prep_us", self.chunk_prep_us);
  visit("round_trip_us", self.round_trip_us);
  visit("barrier_us", self.barrier_us);
  visit("chunk_bytes", self.chunk_bytes);
  visit("gpus_per_node", self.gpus_per_node);
  visit("multimem", self.multimem);
}

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
