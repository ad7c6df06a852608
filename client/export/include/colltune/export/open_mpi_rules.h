// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/vocabulary/collective.h"

// Files of rules for Open MPI's component coll/tuned (MCA variable
// coll_tuned_dynamic_rules_filename), as its reader understands them
// (ompi/mca/coll/tuned/coll_tuned_dynamic_file.c of the release).

namespace colltune {

/// The releases of Open MPI whose files of rules differ.
enum class OpenMpiRelease {
  v4_1 = 0,  ///< format 1: every 4.1, and every 5.0
  v5_0 = 1,  ///< format 2: 5.0.7 and newer; older ones drop it
};
constexpr std::array<Named<OpenMpiRelease>, 2> enum_names(OpenMpiRelease) {
  return {{{OpenMpiRelease::v4_1, "4.1.x"}, {OpenMpiRelease::v5_0, "5.0.x"}}};
}
constexpr std::string_view enum_title(OpenMpiRelease) { return "release of Open MPI"; }

/// What is done with messages of `from` bytes and more, up to the next rule.
struct OpenMpiRule {
  std::uint64_t from = 0;
  int algorithm = 0;  ///< 0: the library's own choice
  int fanout = 0;
  int segment_size = 0;
  std::optional<int> max_requests{};  ///< from format 2 on

  friend bool operator==(const OpenMpiRule&, const OpenMpiRule&) = default;
};

/// The rules of communicators of `ranks` ranks and more, up to the next ones.
struct OpenMpiRanksRules {
  int ranks = 0;
  std::vector<OpenMpiRule> rules;  ///< the first one from 0 on

  friend bool operator==(const OpenMpiRanksRules&, const OpenMpiRanksRules&) = default;
};

/// The rules of one of the library's collectives, by its number there.
struct OpenMpiCollectiveRules {
  int collective = 0;
  std::vector<OpenMpiRanksRules> by_ranks;

  friend bool operator==(const OpenMpiCollectiveRules&, const OpenMpiCollectiveRules&) = default;
};

using OpenMpiRules = std::vector<OpenMpiCollectiveRules>;

/// A collective of the library that rules are about.
struct OpenMpiCollective {
  int number = 0;
  std::string_view name;           ///< "allreduce"
  std::string_view implementation;  ///< whose variants are its algorithms: "mpi.all_reduce_tuned"
  /// By number, from 1 on; the library's names. Those of `algorithms_5_0` follow from 5.0 on.
  std::vector<std::string_view> algorithms{};
  std::vector<std::string_view> algorithms_5_0{};
};

/// All for which colltune measures named algorithms, by number.
[[nodiscard]] const std::vector<OpenMpiCollective>& open_mpi_collectives();
/// Null if there is none.
[[nodiscard]] const OpenMpiCollective* find_open_mpi_collective(int number);

/// The number of `algorithm` in that release; 0 if it has none of that name.
[[nodiscard]] int open_mpi_algorithm_number(const OpenMpiCollective& collective,
                                            std::string_view algorithm, OpenMpiRelease release);
/// Its name: "default" for 0, "unknown" if the release has no such number.
[[nodiscard]] std::string_view open_mpi_algorithm_name(const OpenMpiCollective& collective,
                                                       int number, OpenMpiRelease release);

/// The rule that the library follows in a call; null: its own choice. A communicator smaller than
/// the first of a collective's sizes follows the first one's rules.
[[nodiscard]] const OpenMpiRule* open_mpi_rule_for(const OpenMpiRules& rules, int collective,
                                                   int ranks, std::uint64_t bytes);

/// The file, behind `comment` (lines without '#').
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
