// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/ring/ring_overrides.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

constexpr std::array<RingVariable, 12> variables{{
    {"TMPBUF_CHUNK_SIZE", &RingOverrides::chunk_bytes, 0, RingRules::v1,
     "bytes of a chunk; 0: by the rules"},
    {"TMPBUF_NUM_CHUNKS", &RingOverrides::chunks, 0, RingRules::v1,
     "chunks of a staging buffer; 0: by the rules"},
    {"MAX_NUM_THREAD_BLOCKS", &RingOverrides::max_blocks, 0, RingRules::v1,
     "at most so many blocks; 0: no cap"},
    {"NUM_THREAD_BLOCKS", &RingOverrides::blocks, 0, RingRules::v2,
     "so many blocks; 0: by the rules"},
    {"THREAD_BLOCK_SIZE", &RingOverrides::threads, 0, RingRules::v1,
     "threads of a block; 0: by the rules"},
    {"AUTO_TUNE_MAX_BDP", &RingOverrides::max_bdp_bytes, 0, RingRules::v1,
     "bytes in flight; 0: by architecture"},
    {"MIN_SHARD_SIZE", &RingOverrides::min_shard_bytes, 0, RingRules::v3,
     "least bytes of a rank's shard; the rules do not read it"},
    {"LARGE_CHUNK_RANK_THRESHOLD", &RingOverrides::large_chunk_ranks, 0, RingRules::v3,
     "chunks grow above so many ranks; 0: never"},
    {"QP_SCALING_TH_MIN", &RingOverrides::qp_threshold_min, -1, RingRules::v3,
     "least threshold of queue pairs in bytes; -1: no threshold"},
    {"QP_SCALING_TH_MAX", &RingOverrides::qp_threshold_max, -1, RingRules::v3,
     "most of it; 0 or below the least: no threshold"},
    {"STAGING_BUF_SIZE", &RingOverrides::staging_bytes, 0, RingRules::v3,
     "bytes of a staging buffer; 0: 32 MiB"},
    {"BIDIR_AG_MAX_SIZE", &RingOverrides::both_ways_max_bytes, -2, RingRules::v3,
     "largest message gathered both ways; -2: by architecture, -1: all, 0: none"},
}};

std::string full_name(const RingVariable& variable) {
  return std::string(ring_variable_prefix) + std::string(variable.name);
}

}  // namespace

std::span<const RingVariable> ring_variables() { return variables; }

const RingVariable* find_ring_variable(std::string_view name) {
  if (name.starts_with(ring_variable_prefix)) name.remove_prefix(ring_variable_prefix.size());
  const auto* const found = std::ranges::find(variables, name, &RingVariable::name);
  return found == variables.end() ? nullptr : found;
}

void set_ring_override(RingOverrides& overrides, std::string_view name, std::string_view value) {
  const RingVariable* const variable = find_ring_variable(name);
  if (variable == nullptr) {
    std::string all;
    for (const RingVariable& one : variables)
      all += (all.empty() ? "" : ", ") + std::string(one.name);
    throw Error(StatusCode::invalid_argument,
                "'" + std::string(name) + "' is no variable of ctring; allowed are " +
                    std::string(ring_variable_prefix) + " followed by " + all);
  }
  std::int64_t number = 0;
  const char* const last = value.data() + value.size();
  const auto [end, error] = std::from_chars(value.data(), last, number);
  if (error != std::errc{} || end != last || number < variable->least)
    throw Error(StatusCode::invalid_argument,
                full_name(*variable) + ": '" + std::string(value) +
                    "' is not allowed; allowed are whole numbers from " +
                    std::to_string(variable->least) + " to " +
                    std::to_string(std::numeric_limits<std::int64_t>::max()) + " (" +
                    std::string(variable->what) + ")");
  overrides.*variable->value = number;
}

RingOverrides read_ring_overrides(std::span<const std::string> assignments) {
  RingOverrides overrides;
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos)
      throw Error(StatusCode::invalid_argument,
                  "'" + assignment + "' is no setting of ctring; write NAME=value");
    set_ring_override(overrides, std::string_view(assignment).substr(0, equals),
                      std::string_view(assignment).substr(equals + 1));
  }
  return overrides;
}

void check_ring_overrides(const RingOverrides& overrides) {
  for (const RingVariable& variable : variables)
    if (overrides.*variable.value < variable.least)
      throw Error(StatusCode::invalid_argument, full_name(variable) + ": " +
                                                    std::to_string(overrides.*variable.value) +
                                                    " is not allowed; allowed are numbers from " +
                                                    std::to_string(variable.least) + " on");
  if (overrides.max_blocks > 0 && overrides.blocks > overrides.max_blocks)
    throw Error(StatusCode::invalid_argument,
                std::string(ring_variable_prefix) + "NUM_THREAD_BLOCKS: " +
                    std::to_string(overrides.blocks) + " is not allowed; at most " +
                    std::to_string(overrides.max_blocks) + ", the value of " +
                    std::string(ring_variable_prefix) + "MAX_NUM_THREAD_BLOCKS");
}

std::vector<std::string> ring_assignments(const RingOverrides& overrides) {
  std::vector<std::string> all;
  const RingOverrides untouched;
  for (const RingVariable& variable : variables)
    if (overrides.*variable.value != untouched.*variable.value)
      all.push_back(full_name(variable) + "=" + std::to_string(overrides.*variable.value));
  return all;
}

std::vector<std::string> unread_ring_overrides(const RingOverrides& overrides, RingRules rules) {
  std::vector<std::string> all;
  const RingOverrides untouched;
  for (const RingVariable& variable : variables)
    if (overrides.*variable.value != untouched.*variable.value && rules < variable.first)
      all.push_back(full_name(variable));
  return all;
}

}  // namespace colltune
