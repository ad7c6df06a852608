// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "colltune/vocabulary/names.h"

namespace colltune {

/// The rules by which torchcomms' ring all-reduce (ctring) chooses its parameters, as they changed.
/// Named on command lines.
enum class RingRules {
  v1 = 1,  ///< the text of torchcomms' pull request 745
  v2 = 2,  ///< that request as it was merged (c4f0d0530)
  v3 = 3,  ///< 59426ba4 (2026-08): shards by power of two, staging of 32 MiB, growth of chunks
};
constexpr std::array<Named<RingRules>, 3> enum_names(RingRules) {
  return {{{RingRules::v1, "v1"}, {RingRules::v2, "v2"}, {RingRules::v3, "v3"}}};
}
constexpr std::string_view enum_title(RingRules) { return "rule set of ctring"; }

/// The rule sets of a user who names none: what is in torchcomms now.
inline constexpr RingRules default_ring_rules = RingRules::v3;

/// The two kinds of GPUs that the rules have values for.
enum class RingArchitecture {
  default_values = 0,  ///< compute capability 10 and up
  hopper = 1,          ///< below 10
};
constexpr std::array<Named<RingArchitecture>, 2> enum_names(RingArchitecture) {
  return {{{RingArchitecture::default_values, "default"}, {RingArchitecture::hopper, "hopper"}}};
}
constexpr std::string_view enum_title(RingArchitecture) { return "architecture of ctring"; }

/// The kind of an architecture as a topology names it: "sm_90", "sm_100a". Throws
/// Error(invalid_argument) for anything else: the rules have no values for other devices.
[[nodiscard]] RingArchitecture ring_architecture_of(std::string_view architecture);

/// The power of two nearest to `number`; of two equally near ones the higher. 1 for 0. Throws
/// Error(out_of_range) where that power has no 64 bits.
[[nodiscard]] std::uint64_t nearest_power_of_two(std::uint64_t number);

}  // namespace colltune
