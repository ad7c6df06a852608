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

/// What the user states about some ranks, in addition to what they detect themselves. RANKS is "*",
/// or numbers and ranges of them: "3", "0,8-15".
struct CapabilityRules {
  /// "RANKS:FEATURE" removes a feature, to rehearse a mixed cluster on a uniform one. FEATURE is
  /// one of: an instruction set ("avx512" covers all whose names begin so; the rank's kernels then
  /// do without it); "impl=GLOB" (implementations, or variants as they are printed); the
  /// architecture of the rank's device; a capability's name or a glob for it ("mpi.tuned.*"). A
  /// masked architecture "sm_90" becomes "sm", which no real device has, so measurements made with
  /// the mask stay apart. Processors' architectures follow from their instruction sets.
  std::vector<std::string> masks;
  /// "RANKS:TAG" adds what no probe can detect: the feature "tag.TAG".
  std::vector<std::string> declarations;
  /// Whether ranks may run different builds of one version; each build then runs its part as a
  /// group.
  bool builds_may_differ = false;

  /// Appends those rules of `others` that are not among these.
  void append(const CapabilityRules& others);
  [[nodiscard]] bool empty() const { return *this == CapabilityRules{}; }

  friend bool operator==(const CapabilityRules&, const CapabilityRules&) = default;
};

/// The rules for a launch in one line, for a person to read and to tell launches apart; empty if
/// there are none.
[[nodiscard]] std::string describe(const CapabilityRules& rules);

/// The rules that apply to one rank.
struct RankRules {
  std::vector<std::string> masks;  ///< each a FEATURE
  std::vector<std::string> tags;
};

/// Throws Error(invalid_argument) for any rule that does not parse or names a rank beyond the
/// launch; the message names the rule, its fault and what is allowed. The same on all ranks.
[[nodiscard]] RankRules rules_of_rank(const CapabilityRules& rules, int rank, int ranks);

/// Throws Error(invalid_argument) for an "impl=GLOB" whose part before the first brace matches
/// nothing in the catalogue.
void check_implementation_masks(const CapabilityRules& rules, const Implementations& catalogue);

/// Those of the rank's masks that name instruction sets, out of these names (for example
/// "avx512f").
[[nodiscard]] std::vector<std::string> masked_isas(const RankRules& rules,
                                                   std::span<const std::string> isa_names);

/// `detected`, which the rank found out by itself, without what is masked and with what is
/// declared. Masks in `isas` are taken to be in force already. Throws Error(invalid_argument) if a
/// mask removes nothing; the message names what the rank has.
[[nodiscard]] Capability apply(const RankRules& rules, std::span<const std::string> isas,
                               Capability detected);

/// The glob that masks `variant`, or its whole implementation; empty if none does.
[[nodiscard]] std::string_view masked_by(const Capability& capability, const Variant& variant);

/// The declared and masked features, which distinguish two ranks of one architecture: "" or
/// "+tag.leader+without.cpu.*".
[[nodiscard]] std::string distinctions_of(const Capability& capability);

}  // namespace colltune
