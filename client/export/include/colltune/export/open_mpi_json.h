// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/export/open_mpi_rules.h"

// Files of rules in JSON, as Open MPI 6 reads them (ompi/mca/coll/tuned/coll_tuned_dynamic_file.c
// of its main branch). It reads the two older formats too, with the sizes of communicators shifted.

namespace colltune {

/// What is done with messages of `least` to `most` bytes.
struct OpenMpiSizeRule {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  int algorithm = 0;  ///< 0: the library's own choice
  int fanout = 0;
  int segment_size = 0;

  friend bool operator==(const OpenMpiSizeRule&, const OpenMpiSizeRule&) = default;
};

/// The rules of communicators of `least` to `most` ranks that lie so on their nodes.
struct OpenMpiWorldRules {
  int least = 0;
  int most = std::numeric_limits<int>::max();
  std::string distribution = "any";  ///< or "single-node", "one-per-node"
  std::vector<OpenMpiSizeRule> rules;

  friend bool operator==(const OpenMpiWorldRules&, const OpenMpiWorldRules&) = default;
};

struct OpenMpiJsonCollective {
  int collective = 0;
  std::vector<OpenMpiWorldRules> worlds;

  friend bool operator==(const OpenMpiJsonCollective&, const OpenMpiJsonCollective&) = default;
};
using OpenMpiJsonRules = std::vector<OpenMpiJsonCollective>;

/// `rules` for just their numbers of ranks; `comment` stands under a key that the reader passes
/// over.
[[nodiscard]] std::string print_open_mpi_json(const OpenMpiRules& rules,
                                              const std::vector<std::string>& comment);

/// What the library would do with a file.
struct CheckedOpenMpiJson {
  std::optional<OpenMpiJsonRules> rules{};  ///< empty: it drops the file, as `why_dropped` says
  std::string why_dropped{};
  std::vector<std::string> failing{};
  std::vector<std::string> remarks{};
};
[[nodiscard]] CheckedOpenMpiJson check_open_mpi_json(std::string_view text);

/// The rule that the library follows in a call of a communicator that lies so on its nodes; null:
/// its own choice. The first rules that fit the communicator count, and of these the first that
/// fits the message.
[[nodiscard]] const OpenMpiSizeRule* open_mpi_rule_for(const OpenMpiJsonRules& rules,
                                                       int collective, int ranks,
                                                       std::string_view distribution,
                                                       std::uint64_t bytes);

}  // namespace colltune
