// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/speed_of_light/device.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "colltune/vocabulary/error.h"
#include "refused.h"

namespace colltune::speed_of_light {
namespace {

// XLA's kDefaultNcclCostModelCoeff, by which it multiplies the figures of its tables.
constexpr double coefficient = 0.45;

/// A row of SolGPUCostModel's configuration, before the coefficient.
struct NetworkRow {
  std::string_view name;  ///< of DeviceDescription; empty: any other device
  double launch_us;
  double nic_gb_per_s;
  double chunk_prep_us;
  double round_trip_us;
  double barrier_us;  ///< without the coefficient
};
constexpr std::array<NetworkRow, 3> network_rows{{
    {"NVIDIA H100 80GB HBM3", 100, 55.56, 13.34, 68.89, 1.5},
    {"NVIDIA B200", 100, 111.12, 4.45, 46.67, 1.0},
    {"", 100, 111.12, 13.34, 68.89, 1.5},
}};
constexpr Bytes default_chunk{4 << 20};
constexpr int default_gpus_per_node = 8;

/// GB/s of one direction of one link, by generation.
struct LaneRow {
  Platform platform;
  int generation;
  double lane;
};
// BandwidthSettings: NVLink by compute capability; Infinity Fabric of MI100, MI200, MI300.
constexpr std::array<LaneRow, 8> lane_rows{{
    {Platform::cuda, 6, 18},
    {Platform::cuda, 7, 20},
    {Platform::cuda, 8, 20},
    {Platform::cuda, 9, 20},
    {Platform::cuda, 10, 40},
    {Platform::rocm, 908, 37.5},
    {Platform::rocm, 90, 75},
    {Platform::rocm, 942, 112},
}};

/// Links of each device in its makers' machines of 8.
struct LinksRow {
  std::string_view name;
  int links;
};
constexpr std::array<LinksRow, 4> links_rows{{{"NVIDIA H100 80GB HBM3", 18},
                                              {"NVIDIA H200", 18},
                                              {"NVIDIA B200", 18},
                                              {"AMD Instinct MI300X", 7}}};

void check(std::string_view field, double value) {
  if (!std::isfinite(value) || value <= 0)
    fail(fmt::format("{} is {}; it must be a positive number", field, value));
}

template <class T>
T given(std::string_view field, const std::optional<T>& value, T otherwise) {
  if (value) check(field, static_cast<double>(*value));
  return value.value_or(otherwise);
}

Platform platform_of(const DeviceChoice& choice) {
  for (const auto& named : enum_names(Platform{}))
    if (named.name == choice.platform) return named.value;
  fail(fmt::format("platform is '{}'; there are models for {}", choice.platform,
                   allowed_names<Platform>()));
}

/// "sm_90a" -> 9, "sm_103" -> 10, "gfx90a" -> 90, "gfx942" -> 942.
int generation_of(Platform platform, const std::string& architecture) {
  const std::string prefix = platform == Platform::cuda ? "sm_" : "gfx";
  int number = 0;
  std::size_t digits = 0;
  if (architecture.starts_with(prefix))
    for (std::size_t i = prefix.size(); i < architecture.size() && digits < 4; ++i, ++digits) {
      if (architecture[i] < '0' || architecture[i] > '9') break;
      number = number * 10 + (architecture[i] - '0');
    }
  if (digits < 2)
    fail(fmt::format("architecture is '{}'; on {} it begins with {} and a number: {}", architecture,
                     name_of(platform), prefix, platform == Platform::cuda ? "sm_90" : "gfx942"));
  return platform == Platform::cuda ? number / 10 : number;
}

double lane_of(const Device& device) {
  for (const LaneRow& row : lane_rows)
    if (row.platform == device.platform && row.generation == device.generation) return row.lane;
  fail(fmt::format("no bandwidth of a link is known for {}; give lane_gb_per_s",
                   device.architecture));
}

int links_of(const std::string& name) {
  for (const LinksRow& row : links_rows)
    if (row.name == name) return row.links;
  fail(fmt::format("the number of links of '{}' is not known; give links", name));
}

}  // namespace

std::chrono::nanoseconds to_nanoseconds(Microseconds time) {
  const double count = std::round(time.count() * 1e3);
  // 2^63 is the first number beyond; the greatest below is exact as a double.
  if (!(count >= 0) || count >= 9223372036854775808.0)
    throw Error(
        StatusCode::out_of_range,
        fmt::format("a time of {} us is no number of nanoseconds of 64 bits", time.count()));
  return std::chrono::nanoseconds(static_cast<std::int64_t>(count));
}

Device resolve_device(const DeviceChoice& choice) {
  Device device;
  device.name = choice.name;
  device.platform = platform_of(choice);
  device.architecture = choice.architecture;
  device.generation = generation_of(device.platform, choice.architecture);
  const NetworkRow* row = network_rows.data();
  while (!row->name.empty() && row->name != choice.name) ++row;
  device.launch = Microseconds(given("launch_us", choice.launch_us, row->launch_us * coefficient));
  device.nic = given("nic_gb_per_s", choice.nic_gb_per_s, row->nic_gb_per_s * coefficient);
  device.chunk_prep =
      Microseconds(given("chunk_prep_us", choice.chunk_prep_us, row->chunk_prep_us * coefficient));
  device.round_trip =
      Microseconds(given("round_trip_us", choice.round_trip_us, row->round_trip_us * coefficient));
  device.barrier = Microseconds(given("barrier_us", choice.barrier_us, row->barrier_us));
  device.chunk = Bytes{given("chunk_bytes", choice.chunk_bytes, default_chunk.value)};
  device.gpus_per_node = given("gpus_per_node", choice.gpus_per_node, default_gpus_per_node);
  device.memory = given("memory_gb_per_s", choice.memory_gb_per_s, 0.0);
  device.lane = choice.lane_gb_per_s ? *choice.lane_gb_per_s : lane_of(device);
  check("lane_gb_per_s", device.lane);
  device.links = choice.links ? *choice.links : links_of(choice.name);
  check("links", device.links);
  device.has_multimem = choice.multimem.value_or(false);
  return device;
}

double bytes_per_us_to_peers(const Device& device) {
  check("device: links", device.links);
  check("device: lane_gb_per_s", device.lane);
  return device.links * device.lane * 1e3;
}

}  // namespace colltune::speed_of_light
