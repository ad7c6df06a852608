// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "grouped_groups.h"

#include <algorithm>

namespace colltune {
namespace {

[[noreturn]] void refuse_groups(const std::string& what) {
  throw Error(StatusCode::invalid_argument, "a collective by groups: " + what);
}

std::string names_for(Collective collective, const Implementations& catalogue) {
  std::string names;
  for (const auto& one : catalogue)
    if (one->collective() == collective)
      names += (names.empty() ? "" : ", ") + std::string(one->name());
  return names.empty() ? "none" : names;
}

/// One stage and the variant that does it.
struct Asked {
  const std::optional<Problem>& problem;
  const std::optional<Variant>& variant;
  int ranks = 0;
  std::string where;
};

const Implementation* find_implementation_of(const Asked& stage, const Implementations& catalogue) {
  if (!stage.problem) {
    if (stage.variant)
      refuse_groups(stage.where + " there is no stage for " + to_string(*stage.variant) +
                    "; leave it without a variant");
    return nullptr;
  }
  const Collective collective = stage.problem->collective;
  const std::string needed = stage.where + " " + std::string(name_of(collective)) + " among " +
                             std::to_string(stage.ranks) + " ranks needs a variant of one of " +
                             names_for(collective, catalogue);
  if (!stage.variant) refuse_groups(needed + "; it has none");
  const Implementation* const found = find_implementation(catalogue, stage.variant->implementation);
  if (found == nullptr) refuse_groups(needed + "; there is no " + stage.variant->implementation);
  if (found->collective() != collective)
    refuse_groups(needed + ", not of " + stage.variant->implementation);
  return found;
}

}  // namespace

std::vector<int> group_sizes(std::span<const int> group_of_rank) {
  std::vector<int> sizes;
  for (const int group : group_of_rank) {
    if (group < 0 || static_cast<std::size_t>(group) >= group_of_rank.size())
      refuse_groups("group " + std::to_string(group) + " of " +
                    std::to_string(group_of_rank.size()) +
                    " ranks; groups are numbered from 0 on, none left out");
    sizes.resize(std::max(sizes.size(), static_cast<std::size_t>(group) + 1));
    ++sizes[static_cast<std::size_t>(group)];
  }
  if (const auto empty = std::ranges::find(sizes, 0); empty != sizes.end())
    refuse_groups("group " + std::to_string(empty - sizes.begin()) +
                  " has no rank; groups are numbered from 0 on, none left out");
  return sizes;
}

Groups::Groups(std::span<const int> groups, std::optional<int> root)
    : group_of_rank(groups.begin(), groups.end()), sizes(group_sizes(groups)) {
  members.resize(sizes.size());
  for (int rank = 0; rank < ranks(); ++rank)
    members[static_cast<std::size_t>(group_of(rank))].push_back(rank);
  for (const std::vector<int>& group : members) leaders.push_back(group.front());
  if (!root) return;
  root_group = group_of(*root);
  leaders[static_cast<std::size_t>(root_group)] = *root;
}

int Groups::largest() const { return *std::ranges::max_element(sizes); }

int Groups::place_of_leader(int group) const {
  const std::vector<int>& all = of_group(group);
  return static_cast<int>(std::ranges::find(all, leader(group)) - all.begin());
}

GroupedImplementations find_implementations(const Problem& problem, const Grouping& grouping,
                                            const Implementations& catalogue) {
  check(problem);
  const std::vector<int> sizes = group_sizes(grouping.group_of_rank);
  if (const std::string why = why_not_grouped(problem, sizes); !why.empty())
    refuse_groups(describe(problem) + " is unavailable: " + why);
  if (grouping.inside.size() != sizes.size())
    refuse_groups("variants for " + std::to_string(grouping.inside.size()) +
                  " groups, not for the " + std::to_string(sizes.size()) +
                  " that the ranks are in");
  GroupedImplementations found;
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    const GroupedStages stages = grouped_stages(problem, sizes, static_cast<int>(group));
    const GroupVariants& own = grouping.inside[group];
    const std::string where = "in group " + std::to_string(group);
    found.inside.push_back(
        {find_implementation_of(
             {stages.before, own.before, sizes[group], where + " before the bridge"}, catalogue),
         find_implementation_of(
             {stages.after, own.after, sizes[group], where + " after the bridge"}, catalogue)});
  }
  const std::optional<Problem> across = grouped_stages(problem, sizes, 0).bridge;
  const std::optional<Variant> bridge = grouping.bridge;
  found.bridge = find_implementation_of(
      {across, bridge, static_cast<int>(sizes.size()), "across the groups"}, catalogue);
  for (const auto& [before, after] : found.inside)
    for (const Implementation* const stage : {before, after})
      if (stage != nullptr && stage->runs_on_device() != found.bridge->runs_on_device())
        refuse_groups(
            "its stages take buffers in the host's memory, or all of them on devices; a bridge "
            "for " +
            std::string(stage->name()) + " is one of its kind, not of " +
            std::string(found.bridge->name()));
  return found;
}

void check_limits(const Problem& problem, const Grouping& grouping,
                  const GroupedImplementations& implementations) {
  const std::vector<int> sizes = group_sizes(grouping.group_of_rank);
  const auto check_stage = [](const Implementation& implementation, const Variant& variant,
                              const Problem& stage, int ranks) {
    if (const std::string why = why_outside(implementation.limits(variant), stage, ranks);
        !why.empty())
      refuse_groups(to_string(variant) + " for " + describe(stage) + ": " + why);
  };
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    const GroupedStages stages = grouped_stages(problem, sizes, static_cast<int>(group));
    const auto& [before, after] = implementations.inside[group];
    const GroupVariants& own = grouping.inside[group];
    if (before != nullptr) check_stage(*before, *own.before, *stages.before, sizes[group]);
    if (after != nullptr) check_stage(*after, *own.after, *stages.after, sizes[group]);
  }
  check_stage(*implementations.bridge, grouping.bridge, grouped_stages(problem, sizes, 0).bridge,
              static_cast<int>(sizes.size()));
}

}  // namespace colltune
