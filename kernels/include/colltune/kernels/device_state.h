// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace colltune {

/// What holds a device's clocks down. A set: values are bits of DeviceState::throttles.
enum class DeviceThrottle : std::uint32_t {
  power_cap = 1U << 0,    ///< it would draw more power than it may
  slowdown = 1U << 1,     ///< the hardware at least halves the clocks, for whichever reason
  thermal = 1U << 2,      ///< it is too hot, or its memory is
  power_brake = 1U << 3,  ///< the machine's power supply asked for it
};
inline constexpr int throttle_bits = 4;  ///< the lowest ones are those above

/// How a device runs now.
struct DeviceState {
  std::uint64_t clock_khz = 0;  ///< of its processors; 0: not told
  std::uint32_t throttles = 0;  ///< of DeviceThrottle
  int power_state = -1;         ///< 0 (the fastest) to 15; -1: not told

  friend bool operator==(const DeviceState&, const DeviceState&) = default;
};

/// What is the worst of both: the lower clock, all that held it down, the slower power state. What
/// one of them does not tell is the other's.
[[nodiscard]] DeviceState worst_of(const DeviceState& one, const DeviceState& other);

/// "power_cap,thermal"; empty where nothing holds it down.
[[nodiscard]] std::string names_of_throttles(std::uint32_t throttles);

}  // namespace colltune
