// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/apply/open_mpi_han.h"

// Files of rules for Open MPI's component coll/han (MCA variable coll_han_dynamic_rules_filename),
// as 4.1.4 reads and follows them: which component runs a collective, by the level of the
// communicator, its ranks and the message. What is said of it here was observed in 4.1.4.

namespace colltune {

/// Where a rule is for: the ranks of a host, one rank of each host, or the program's communicator.
enum class HanLevel { inside, between, whole };
constexpr std::array<std::string_view, 3> han_level_names{"inside a host", "between hosts",
                                                          "all ranks"};
[[nodiscard]] constexpr std::string_view name_of(HanLevel level) {
  return han_level_names[static_cast<std::size_t>(level)];
}

/// Messages of `from` bytes and more, up to the next rule.
struct HanRule {
  std::uint64_t from = 0;
  HanComponent component = HanComponent::self;

  friend bool operator==(const HanRule&, const HanRule&) = default;
};

/// The rules of communicators of `ranks` ranks and more, up to the next ones.
struct HanRanksRules {
  std::int64_t ranks = 1;
  std::vector<HanRule> rules;

  friend bool operator==(const HanRanksRules&, const HanRanksRules&) = default;
};

struct HanLevelRules {
  HanLevel level = HanLevel::whole;
  std::vector<HanRanksRules> by_ranks;

  friend bool operator==(const HanLevelRules&, const HanLevelRules&) = default;
};

/// The rules of one of the library's collectives, by its number there.
struct HanCollectiveRules {
  int collective = 0;
  std::vector<HanLevelRules> levels;

  friend bool operator==(const HanCollectiveRules&, const HanCollectiveRules&) = default;
};
using HanRules = std::vector<HanCollectiveRules>;

/// The rule that the library follows; null: none, so that coll/han runs the call itself. Of entries
/// that fit, the last in the file counts. `bytes` are those of a block where the collective's rules
/// are by block (HanCollective).
[[nodiscard]] const HanRule* han_rule_for(const HanRules& rules, int collective, HanLevel level,
                                          std::int64_t ranks, std::uint64_t bytes);

/// The file, behind `comment` (lines without '#').
[[nodiscard]] std::string print_han_rules(const HanRules& rules,
                                          const std::vector<std::string>& comment);

/// What the library would do with a file.
struct CheckedHanRules {
  /// Empty: it drops the file without a word, and coll/han runs every collective that it has.
  /// `why_dropped` says what it stumbles over.
  std::optional<HanRules> rules{};
  std::string why_dropped{};
  std::vector<std::string> failing{};  ///< calls that end the program
  std::vector<std::string> remarks{};  ///< rules that are never used, and other surprises
};

/// Reads `text` by the library's own rules.
[[nodiscard]] CheckedHanRules check_han_rules(std::string_view text);

/// "allreduce"; of collectives that coll/han has no rules for the name all the same, if MPI has it.
[[nodiscard]] std::string han_collective_name(int number);

}  // namespace colltune
