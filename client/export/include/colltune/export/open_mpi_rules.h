// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/apply/open_mpi_algorithms.h"

// Files of rules for Open MPI's component coll/tuned (MCA variable
// coll_tuned_dynamic_rules_filename), as its reader understands them
// (ompi/mca/coll/tuned/coll_tuned_dynamic_file.c of the release).

namespace colltune {

/// What is done with messages of `from` bytes and more, up to the next rule.
struct OpenMpiRule {
  std::uint64_t from = 0;
  int algorithm = 0;  ///< 0: the library's own choice
  int fanout = 0;
  int segment_size = 0;
  std::optional<int> max_requests{};  ///< from format 2 on

  friend bool operator==(const OpenMpiRule&, const OpenMpiRule&) = default;
};

/// The rules of communicators of `ranks` ranks and more, up to the next ones; in a file of 6.x of
/// just so many that lie so on their nodes.
struct OpenMpiRanksRules {
  int ranks = 0;
  std::vector<OpenMpiRule> rules;   ///< the first one from 0 on
  std::string distribution{"any"};  ///< in a file of 6.x also "single-node", "one-per-node"

  friend bool operator==(const OpenMpiRanksRules&, const OpenMpiRanksRules&) = default;
};

/// The rules of one of the library's collectives, by its number there.
struct OpenMpiCollectiveRules {
  int collective = 0;
  std::vector<OpenMpiRanksRules> by_ranks;

  friend bool operator==(const OpenMpiCollectiveRules&, const OpenMpiCollectiveRules&) = default;
};

using OpenMpiRules = std::vector<OpenMpiCollectiveRules>;

/// The rule that the library follows in a call; null: its own choice. A communicator smaller than
/// the first of a collective's sizes follows the first one's rules.
[[nodiscard]] const OpenMpiRule* open_mpi_rule_for(const OpenMpiRules& rules, int collective,
                                                   int ranks, std::uint64_t bytes);

/// The file, behind `comment` (lines without '#'): of format 2 if a rule names the most requests.
[[nodiscard]] std::string print_open_mpi_rules(const OpenMpiRules& rules, OpenMpiRelease release,
                                               const std::vector<std::string>& comment);

/// What the library would do with a file.
struct CheckedOpenMpiRules {
  /// Empty: it drops the file without a word and chooses for itself. `why_dropped` says what it
  /// stumbles over.
  std::optional<OpenMpiRules> rules{};
  std::string why_dropped{};
  /// Calls that fail, rules that are never used, and other surprises.
  std::vector<std::string> failing{};
  std::vector<std::string> remarks{};
};

/// Reads `text` by the release's own rules.
[[nodiscard]] CheckedOpenMpiRules check_open_mpi_rules(std::string_view text,
                                                       OpenMpiRelease release);

}  // namespace colltune
