// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

namespace colltune {

/// What ranks of one kind can do: what a rank detected about itself, together with what is declared
/// and masked.
struct MemberKind {
  std::string architecture;  ///< "x86_64-avx2", "sm_90"
  /// "name=value", or "name" if there is no value, sorted by name.
  std::vector<std::string> features;

  friend auto operator<=>(const MemberKind&, const MemberKind&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, MemberKind>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("architecture", self.architecture);
  visit("features", self.features);
}

/// What the members of a communicator can do: each kind once, in ascending order, so that the same
/// ranks give the same value.
struct Members {
  std::vector<MemberKind> kinds;
  std::vector<int> kind_of_rank;  ///< index into `kinds`, by the rank in the communicator

  friend bool operator==(const Members&, const Members&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Members>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("kinds", self.kinds);
  visit("kind_of_rank", self.kind_of_rank);
}

/// Throws Error(invalid_argument) if `members` is not in the form above: kinds or features out of
/// order or duplicate, a rank of a missing kind, a kind without ranks, or no rank at all.
void check(const Members& members);

/// Empty if a rank like `own` can do everything that a rank like `other` can; otherwise what it
/// lacks, for a person. Features are compared by value, with three exceptions: more `memory.bytes`
/// is at least as good; `without.` names what a rank must not use; a name ending in `.unavailable`
/// records what it does not have. Architectures must be equal, or belong to one family of
/// processors whose instruction sets are features ("x86_64-avx2" and "x86_64-avx512").
[[nodiscard]] std::string why_less(const MemberKind& own, const MemberKind& other);

/// Empty if each member of `own` can do everything that the member of `others` with the same rank
/// can; otherwise the first that cannot, and why.
[[nodiscard]] std::string why_less(const Members& own, const Members& others);

}  // namespace colltune
