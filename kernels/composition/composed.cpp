// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/composition/composed.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(StatusCode::invalid_argument, "composition: " + what);
}

const Implementation& implementation_of(const Part& part, const Implementations& catalogue) {
  const auto* const found = find_implementation(catalogue, part.variant.implementation);
  if (found == nullptr)
    refuse("this build has no implementation " + part.variant.implementation + ", which " +
           std::string(name_of(part.role)) + " needs");
  return *found;
}

/// The digest of each kind of the members.
std::vector<std::string> digests_of(const Members& members) {
  std::vector<std::string> digests;
  for (const MemberKind& kind : members.kinds) digests.push_back(digest_of_value(kind));
  return digests;
}

std::unique_ptr<Operation> prepare_substituted(Communicator& communicator, const Call& call,
                                               const Composition& composition,
                                               const Members& members,
                                               const Implementations& catalogue,
                                               Deadline deadline) {
  const auto digests = digests_of(members);
  for (const Part& part : composition.parts) (void)implementation_of(part, catalogue);
  for (std::size_t kind = 0; kind < digests.size(); ++kind)
    if (find_part(composition, PartRole::whole, digests[kind]) == nullptr)
      refuse("says nothing about ranks of " + members.kinds[kind].architecture + " as rank " +
             std::to_string(std::ranges::find(members.kind_of_rank, static_cast<int>(kind)) -
                            members.kind_of_rank.begin()));
  const auto own =
      static_cast<std::size_t>(members.kind_of_rank[static_cast<std::size_t>(communicator.rank())]);
  const Part& part = *find_part(composition, PartRole::whole, digests[own]);
  return implementation_of(part, catalogue).prepare(communicator, call, part.variant, deadline);
}

}  // namespace

const Part* find_part(const Composition& composition, PartRole role, std::string_view kind) {
  for (const Part& part : composition.parts)
    if (part.role == role && std::ranges::find(part.kinds, kind) != part.kinds.end()) return &part;
  return nullptr;
}

Grouping grouping_of(const Composition& composition, const Members& members,
                     std::span<const int> nodes) {
  const auto digests = digests_of(members);
  const auto bridge = std::ranges::find(composition.parts, PartRole::bridge, &Part::role);
  if (bridge == composition.parts.end()) refuse("it has no bridge");
  Grouping grouping{.group_of_rank = {}, .inside = {}, .bridge = bridge->variant};
  std::map<std::pair<int, std::vector<std::string>>, int> groups;  // by node and kinds
  std::vector<int> sizes;
  std::vector<GroupVariants> inside;
  for (std::size_t rank = 0; rank < members.kind_of_rank.size(); ++rank) {
    const std::string& kind = digests.at(static_cast<std::size_t>(members.kind_of_rank[rank]));
    const Part* const before = find_part(composition, PartRole::before, kind);
    const Part* const after = find_part(composition, PartRole::after, kind);
    int group = static_cast<int>(sizes.size());
    if (const Part* const any = before != nullptr ? before : after; any != nullptr)
      group = groups.try_emplace({nodes[rank], any->kinds}, group).first->second;
    if (static_cast<std::size_t>(group) == sizes.size()) {
      sizes.push_back(0);
      auto& own = inside.emplace_back();
      if (before != nullptr) own.before = before->variant;
      if (after != nullptr) own.after = after->variant;
    }
    ++sizes[static_cast<std::size_t>(group)];
    grouping.group_of_rank.push_back(group);
  }
  // A kind's group that is a single rank on its node has no inner stages.
  for (std::size_t group = 0; group < sizes.size(); ++group)
    grouping.inside.push_back(sizes[group] > 1 ? inside[group] : GroupVariants{});
  return grouping;
}

std::unique_ptr<Operation> prepare_composed(Communicator& communicator, const Call& call,
                                            const Composition& composition, const Members& members,
                                            const Implementations& catalogue, Deadline deadline) {
  check(members);
  if (members.kind_of_rank.size() != static_cast<std::size_t>(communicator.size()))
    refuse("there are " + std::to_string(members.kind_of_rank.size()) +
           " members and the communicator has " + std::to_string(communicator.size()) + " ranks");
  if (composition.mode == CompositionMode::substituted)
    return prepare_substituted(communicator, call, composition, members, catalogue, deadline);
  return prepare_grouped(communicator, call,
                         grouping_of(composition, members, communicator.nodes()), catalogue,
                         deadline);
}

}  // namespace colltune
