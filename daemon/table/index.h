// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "colltune/table/decision_table.h"
#include "colltune/vocabulary/fits/variant_fit.h"

namespace colltune {

/// Decisions that differ only in message size: one problem, world, environment, regime and family.
struct Curve {
  const Topology* topology = nullptr;
  std::string_view architecture;  ///< architecture_name() of the topology
  std::string_view environment_digest;
  Regime regime;
  std::vector<const Decision*> decisions;  ///< by ascending size, never empty
  bool has_composed = false;               ///< some variant names a composition
  bool has_for_members = false;            ///< one of these is for certain members
  /// What the measured members can do; null if unknown, or if `apart` is not empty. Equal members
  /// are one object.
  const Members* members = nullptr;
  /// One curve for each distinct members, if the decisions were measured with different members.
  std::vector<Curve> apart = {};
  /// By variant. None if the decisions were measured with different members: the fits mix them.
  std::vector<const VariantFit*> fits = {};
};

/// By key without size: the fits for keys of which nothing is decided, by variant.
using FitsOfWorlds = std::map<TuningKey, std::vector<const VariantFit*>>;

/// Curves by problem and family, pointing into the table's decisions. To find a decision takes one
/// hash look-up, a walk over the worlds in which the problem was measured, and a binary search.
class DecisionTable::Index {
 public:
  /// `decisions` must be sorted by key and family. Throws Error(invalid_argument) for two decisions
  /// of one key and family, and for a decision without variants.
  Index(std::span<const Decision> decisions, std::span<const WorldMembers> members,
        std::span<const Composition> compositions, std::span<const VariantFit> fits);

  /// Every curve of `regime` that the query admits, in any environment. Among the curves of one
  /// world and environment, the one of the strictest numeric class that does not exceed the one
  /// demanded. A query with members gets the curves of as many ranks; curves of different members
  /// stay apart.
  [[nodiscard]] std::vector<const Curve*> admitted(const LookupQuery& query,
                                                   const Regime& regime) const;

  /// The compositions that the variants of `decision` name, in the variants' order. Throws
  /// Error(data_loss) if one is missing.
  [[nodiscard]] std::vector<Composition> compositions_of(const Decision& decision) const;

  /// All curves, in no particular order.
  [[nodiscard]] std::vector<const Curve*> all() const;

  [[nodiscard]] const FitsOfWorlds& fits_of_worlds() const { return fits_of_worlds_; }

 private:
  void set_fits(std::span<const VariantFit> fits);

  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> families_;
  std::unordered_set<std::string> architectures_;  ///< the curves' `architecture` points into these
  std::unordered_map<std::uint64_t, std::vector<Curve>> curves_;
  std::unordered_map<std::string, const Composition*, TextHash, std::equal_to<>> compositions_;
  FitsOfWorlds fits_of_worlds_;
};

}  // namespace colltune
