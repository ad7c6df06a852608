// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

namespace colltune {

/// What ranks of one kind can do: what a rank found out about itself, what is declared of it and
/// what is masked.
struct MemberKind {
  std::string architecture;  ///< "x86_64-avx2", "sm_90"
  /// "name=value", or "name" where there is no value, in the order of the names.
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
/// ranks make the same value.
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

/// Throws Error(invalid_argument) where `members` is not in the form above: kinds or features out
/// of order or twice, a rank of a kind that is not there, a kind of no rank, no rank at all.
void check(const Members& members);

/// Empty where a rank that is as `own` can do all that one that is as `other` can, else what it
/// lacks, for a person. Features are compared by value; of `memory.bytes` more is at least as good,
/// `without.` says what a rank is to do without, and `.unavailable` at a name's end what it has
/// not. Architectures must be the same, or of one family of processors, whose instruction sets are
/// features ("x86_64-avx2" and "x86_64-avx512").
[[nodiscard]] std::string why_less(const MemberKind& own, const MemberKind& other);

/// Empty where each member of `own` can do all that the member of `others` at its place can, else
/// the first that cannot and why.
[[nodiscard]] std::string why_less(const Members& own, const Members& others);

}  // namespace colltune
