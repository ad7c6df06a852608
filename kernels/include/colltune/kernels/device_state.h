// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace colltune {

/// Why a device's clocks are reduced. A set: values are bits of DeviceState::throttles.
enum class DeviceThrottle : std::uint32_t {
  power_cap = 1U << 0,    ///< it would draw more power than it may
  slowdown = 1U << 1,     ///< the hardware at least halves the clocks, for any reason
  thermal = 1U << 2,      ///< it is too hot, or its memory is
  power_brake = 1U << 3,  ///< the machine's power supply asked for it
};
inline constexpr int throttle_bits = 4;  ///< the lowest bits are the ones above

/// The present state of a device.
struct DeviceState {
  std::uint64_t clock_khz = 0;  ///< of its processors; 0: unknown
  std::uint32_t throttles = 0;  ///< bits of DeviceThrottle
  int power_state = -1;         ///< 0 (the fastest) to 15; -1: unknown

  friend bool operator==(const DeviceState&, const DeviceState&) = default;
};

/// The worse of both, field by field: the lower clock, the throttles of both, the slower power
/// state. An unknown value is replaced by the other's.
[[nodiscard]] DeviceState worst_of(const DeviceState& one, const DeviceState& other);

/// "power_cap,thermal"; empty if nothing reduces the clocks.
[[nodiscard]] std::string names_of_throttles(std::uint32_t throttles);

}  // namespace colltune
