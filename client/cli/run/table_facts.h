// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "colltune/vocabulary/decision_set.h"

namespace colltune {

/// What rules for a component of Open MPI change, or why there are none.
struct LaunchRules {
  std::string text;     ///< of the file of rules
  int changed = 0;      ///< keys whose algorithm is another one by them
  int keys = 0;         ///< that they are made of
  std::string why_not;  ///< empty: there are some
  friend bool operator==(const LaunchRules&, const LaunchRules&) = default;
};

/// What a launch must know of a table's decisions.
struct TableFacts {
  std::uint64_t generation = 0;
  std::string worlds;              ///< that the decisions are for, for a person
  std::size_t component_keys = 0;  ///< won by colltune's kernels, which the component runs
  std::size_t nccl_keys = 0;       ///< won by a choice of NCCL's that is not its default
  bool has_rules_release = false;  ///< measured with a release of Open MPI that rules are for
  LaunchRules algorithms{};        ///< for coll/tuned
  LaunchRules han{};               ///< for coll/han, which serves several hosts
  std::map<std::string, std::string> malloc_variables{};  ///< as they were set while measuring
  friend bool operator==(const TableFacts&, const TableFacts&) = default;
};

template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, LaunchRules>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("text", self.text);
  visit("changed", self.changed);
  visit("keys", self.keys);
  visit("why_not", self.why_not);
}
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, TableFacts>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("generation", self.generation);
  visit("worlds", self.worlds);
  visit("component_keys", self.component_keys);
  visit("nccl_keys", self.nccl_keys);
  visit("has_rules_release", self.has_rules_release);
  visit("algorithms", self.algorithms);
  visit("han", self.han);
  visit("malloc_variables", self.malloc_variables);
}

/// Of a table's decisions, in the environment of `environment_digest`. `without_sums`: the
/// library's own order is demanded of reductions, so rules say nothing of them.
[[nodiscard]] TableFacts find_table_facts(const DecisionSet& set,
                                          std::string_view environment_digest, bool without_sums);

/// The facts of a table in a file beside it, since to read all decisions with their evidence takes
/// longer than starting a program.
class KeptFacts {
 public:
  KeptFacts(const std::filesystem::path& folder, std::string_view digest, bool without_sums);
  /// Empty where the file is not there, is damaged or was written by another build, which may find
  /// other facts.
  [[nodiscard]] std::optional<TableFacts> read() const;
  /// Where the folder takes no file, nothing is kept, which is no error.
  void write(const TableFacts& facts) const;

 private:
  std::filesystem::path file_;
};

}  // namespace colltune
