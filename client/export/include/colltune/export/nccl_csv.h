// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/nccl/choice.h"

// Files of NVIDIA's example tuner plug-in (plugins/tuner/example/plugin.c of NCCL, formerly
// ext-tuner/example; NCCL_TUNER_CONFIG_FILE), as its reader understands them.

namespace colltune {

/// What NCCL calls the largest size; sizes up to it are covered.
inline constexpr std::uint64_t largest_nccl_message = std::numeric_limits<std::uint64_t>::max();
/// In the fields below: any.
inline constexpr int any_in_nccl_csv = -1;

/// A line: what is done with messages of `least` to `most` bytes (NCCL's nBytes).
struct NcclCsvRule {
  nccl::Function function = nccl::Function::all_reduce;
  std::uint64_t least = 0;
  std::uint64_t most = largest_nccl_message;
  nccl::Algorithm algorithm = nccl::Algorithm::ring;
  nccl::Protocol protocol = nccl::Protocol::simple;
  int channels = 0;  ///< 0: NCCL's own number; -1 leaves the plug-in's, which is 1
  int nodes = any_in_nccl_csv;
  int ranks = any_in_nccl_csv;
  int pipe_operations = any_in_nccl_csv;
  int registered = any_in_nccl_csv;
  int line = 0;  ///< in the file; not compared

  friend bool operator==(const NcclCsvRule& one, const NcclCsvRule& other) {
    return one.function == other.function && one.least == other.least && one.most == other.most &&
           one.algorithm == other.algorithm && one.protocol == other.protocol &&
           one.channels == other.channels && one.nodes == other.nodes && one.ranks == other.ranks &&
           one.pipe_operations == other.pipe_operations && one.registered == other.registered;
  }
};

/// As the plug-in calls them: "allreduce", "collnet_direct".
[[nodiscard]] std::string_view nccl_csv_name(nccl::Function function);
[[nodiscard]] std::string_view nccl_csv_name(nccl::Algorithm algorithm);

/// The file, behind `comment`; no line is longer than the reader's buffer. Only fields that differ
/// from "any" follow the number of ranks.
[[nodiscard]] std::string print_nccl_csv(const std::vector<NcclCsvRule>& rules,
                                         const std::vector<std::string>& comment);

/// What the plug-in makes of a file.
struct CheckedNcclCsv {
  std::vector<NcclCsvRule> rules;     ///< in their order: the first that fits is followed
  std::vector<std::string> mistaken;  ///< lines that do not mean what they say, or nothing
  std::vector<std::string> remarks;   ///< calls on one channel, lines that are never reached
};
[[nodiscard]] CheckedNcclCsv check_nccl_csv(std::string_view text);

/// A call that the plug-in is asked about.
struct NcclCsvCall {
  nccl::Function function = nccl::Function::all_reduce;
  std::uint64_t bytes = 0;
  int nodes = 1;
  int ranks = 2;
  int pipe_operations = 1;
  int registered = 0;
};
/// The first rule that fits; null: NCCL's own algorithm, on one channel.
[[nodiscard]] const NcclCsvRule* nccl_csv_rule_for(const std::vector<NcclCsvRule>& rules,
                                                   const NcclCsvCall& call);

}  // namespace colltune
