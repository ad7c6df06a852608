// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/kernels/capability.h"
#include "colltune/kernels/implementation.h"

namespace colltune {

/// What the user says of some ranks besides what they find out themselves. RANKS is "*", or numbers
/// and ranges of them: "3", "0,8-15".
struct CapabilityRules {
  /// "RANKS:FEATURE" takes away, to rehearse a mixed cluster on a uniform one. FEATURE is an
  /// instruction set ("avx512": all whose names begin so; the rank's kernels then do without it),
  /// "impl=GLOB" (implementations, or variants as they are printed), the architecture of the rank's
  /// device ("sm_90": it is a mere "sm" then, which no device is, so that what is measured stays
  /// apart; processors' architectures follow from their instruction sets), or a name or glob of a
  /// capability ("mpi.tuned.*").
  std::vector<std::string> masks;
  /// "RANKS:TAG" adds what no probe can see: the feature "tag.TAG".
  std::vector<std::string> declarations;
  /// Whether ranks may run unlike builds of one version: each build then does its part as a group.
  bool builds_may_differ = false;

  /// Those of `others` that are not among these.
  void append(const CapabilityRules& others);
  [[nodiscard]] bool empty() const { return *this == CapabilityRules{}; }

  friend bool operator==(const CapabilityRules&, const CapabilityRules&) = default;
};

/// The rules for a launch in one line, for a person and to tell launches apart; empty for none.
[[nodiscard]] std::string describe(const CapabilityRules& rules);

/// What of the rules is about one rank.
struct RankRules {
  std::vector<std::string> masks;  ///< FEATURE
  std::vector<std::string> tags;
};

/// Throws Error(invalid_argument), which names the rule, its fault and what is allowed, for any
/// rule that does not parse or names a rank beyond the launch: the same on all ranks.
[[nodiscard]] RankRules rules_of_rank(const CapabilityRules& rules, int rank, int ranks);

/// Throws Error(invalid_argument) for an "impl=GLOB" that, up to its first brace, matches none of
/// the catalogue.
void check_implementation_masks(const CapabilityRules& rules, const Implementations& catalogue);

/// Of the rank's masks those that are instruction sets, of these names ("avx512f").
[[nodiscard]] std::vector<std::string> masked_isas(const RankRules& rules,
                                                   std::span<const std::string> isa_names);

/// `detected`, what the rank found out by itself, without what is masked and with what is declared.
/// Masks among `isas` are taken to be in force already. Throws Error(invalid_argument) where a mask
/// takes nothing away; the message names what the rank has.
[[nodiscard]] Capability apply(const RankRules& rules, std::span<const std::string> isas,
                               Capability detected);

/// The glob by which `variant`, or all of its implementation, is masked there; empty where it is
/// not.
[[nodiscard]] std::string_view masked_by(const Capability& capability, const Variant& variant);

/// The declared and masked features, as they make two ranks of one architecture unlike: "" or
/// "+tag.leader+without.cpu.*".
[[nodiscard]] std::string distinctions_of(const Capability& capability);

}  // namespace colltune
