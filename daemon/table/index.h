// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "colltune/table/decision_table.h"

namespace colltune {

/// The decisions that differ in the message size alone: one problem, world, environment and family.
struct Curve {
  const Topology* topology = nullptr;
  std::string_view architecture;  ///< architecture_name() of the topology
  std::string_view environment_digest;
  std::vector<const Decision*> decisions;  ///< by ascending size, never empty
  bool has_composed = false;               ///< some variant names a composition
  bool has_for_members = false;            ///< of these, one for certain members
  /// What the members that were measured can do; null where it is not known, or where `apart` is
  /// not empty. Equal ones are one object.
  const Members* members = nullptr;
  /// Where its decisions were measured with unlike members: those of each, by themselves.
  std::vector<Curve> apart = {};
};

/// Curves by problem and family. Points into the table's decisions; a decision is found by one hash
/// look-up, a walk over the worlds in which that problem was measured, and a binary search.
class DecisionTable::Index {
 public:
  /// `decisions` are sorted by key and family. Throws Error(invalid_argument) for two of one key
  /// and family and for one without variants.
  Index(std::span<const Decision> decisions, std::span<const WorldMembers> members,
        std::span<const Composition> compositions);

  /// Every curve that the query admits, whatever its environment; of the curves of one world and
  /// environment the one of the strictest numeric class that does not exceed the one demanded. A
  /// query with members gets the curves of as many ranks, of unlike members apart.
  [[nodiscard]] std::vector<const Curve*> admitted(const LookupQuery& query) const;

  /// Those that the variants of `decision` name, in their order. Throws Error(data_loss) where one
  /// is not there.
  [[nodiscard]] std::vector<Composition> compositions_of(const Decision& decision) const;

  /// All curves, in no order.
  [[nodiscard]] std::vector<const Curve*> all() const;

 private:
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> families_;
  std::unordered_set<std::string> architectures_;  ///< what the curves' names point at
  std::unordered_map<std::uint64_t, std::vector<Curve>> curves_;
  std::unordered_map<std::string, const Composition*, TextHash, std::equal_to<>> compositions_;
};

}  // namespace colltune
