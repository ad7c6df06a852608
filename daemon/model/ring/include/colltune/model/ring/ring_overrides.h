// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/model/ring/ring_rules.h"

namespace colltune {

/// What a user sets of ctring by its variables; the initial values are torchcomms' own. Numbers as
/// the variables have them: sizes in bytes, and some negative ones have a meaning of their own.
struct RingOverrides {
  std::int64_t chunk_bytes = 0;         ///< 0: the rules choose
  std::int64_t chunks = 0;              ///< 0: the rules choose
  std::int64_t max_blocks = 0;          ///< caps the rules' blocks; 0: no cap
  std::int64_t blocks = 0;              ///< exactly so many; 0: the rules choose
  std::int64_t threads = 0;             ///< threads of a block; 0: the rules choose
  std::int64_t max_bdp_bytes = 0;       ///< bandwidth-delay product; 0: the architecture's
  std::int64_t min_shard_bytes = 16;    ///< not read by the rules
  std::int64_t large_chunk_ranks = 32;  ///< chunks grow above so many ranks; 0: never
  std::int64_t qp_threshold_min = 262144;
  std::int64_t qp_threshold_max = 524288;
  std::int64_t staging_bytes = 0;         ///< 0: the rules' size
  std::int64_t both_ways_max_bytes = -2;  ///< -2: by architecture; 0: never; -1: always

  friend auto operator<=>(const RingOverrides&, const RingOverrides&) = default;
};

/// What the names of all these variables begin with.
inline constexpr std::string_view ring_variable_prefix = "NCCL_CTRAN_ALLREDUCE_RING_";

/// One of the variables: the only list of their names, limits and meanings.
struct RingVariable {
  std::string_view name;  ///< without the prefix
  std::int64_t RingOverrides::*value;
  std::int64_t least;  ///< the lowest allowed value
  RingRules first;     ///< the first rule set that has it
  std::string_view what;
};
[[nodiscard]] std::span<const RingVariable> ring_variables();

/// The variable called `name`, with or without the prefix; null if there is none.
[[nodiscard]] const RingVariable* find_ring_variable(std::string_view name);

/// Sets one of them. Throws Error(invalid_argument) for an unknown name and for a value that is no
/// whole number or below what is allowed; it names the variable, the value and what is allowed.
void set_ring_override(RingOverrides& overrides, std::string_view name, std::string_view value);

/// The overrides of `NAME=value` pairs; of several for one variable the last one holds. Throws as
/// set_ring_override does, and for a text without '='.
[[nodiscard]] RingOverrides read_ring_overrides(std::span<const std::string> assignments);

/// Throws Error(invalid_argument) if values contradict each other: more blocks than their own cap.
void check_ring_overrides(const RingOverrides& overrides);

/// Those that differ from torchcomms' own values, as `NAME=value` with the whole name.
[[nodiscard]] std::vector<std::string> ring_assignments(const RingOverrides& overrides);

/// The names of those that differ and that `rules` do not read.
[[nodiscard]] std::vector<std::string> unread_ring_overrides(const RingOverrides& overrides,
                                                             RingRules rules);

}  // namespace colltune
