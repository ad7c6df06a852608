// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Grouped compositions: which ranks form which group, and which variants are tried for the groups
// and the bridge.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "colltune/kernels/composition/composed.h"
#include "composer.h"
#include "planned_variant.h"
#include "selection.h"

namespace colltune {
namespace {

/// The ranks of each group, in the order of `ranks`.
std::vector<std::vector<int>> ranks_by_group(std::span<const int> group_of_rank,
                                             std::span<const int> ranks) {
  std::vector<std::vector<int>> groups;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto group = static_cast<std::size_t>(group_of_rank[i]);
    if (group >= groups.size()) groups.resize(group + 1);
    groups[group].push_back(ranks[i]);
  }
  return groups;
}

}  // namespace

std::vector<Composer::Class> Composer::classes_of(std::span<const Option> options) const {
  std::map<std::tuple<std::string_view, std::string_view, std::vector<bool>>, Class> classes;
  for (const int kind : kinds_) {
    std::vector<bool> can;
    for (const Option& option : options)
      can.push_back(std::ranges::binary_search(option.kinds, kind));
    const Capability& own = capability(kind);
    classes[{own.architecture, own.value(build_feature), std::move(can)}].push_back(kind);
  }
  std::vector<Class> found;
  for (auto& [what, kinds] : classes) found.push_back(std::move(kinds));
  return found;
}

std::set<std::vector<int>> Composer::like_ranks(std::span<const Option> options) const {
  std::set<std::vector<int>> found;
  const std::vector<Class> classes = classes_of(options);
  if (classes.size() < 2) return found;
  for (const Class& of_class : classes) {
    std::vector<int> all;
    std::map<int, std::vector<int>> by_node;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const int rank = setting_.world.ranks[i];
      if (!std::ranges::binary_search(of_class, kind_of(rank))) continue;
      all.push_back(rank);
      by_node[nodes_[i]].push_back(rank);
    }
    if (all.size() > 1) found.insert(std::move(all));
    for (auto& [node, ranks] : by_node)
      if (ranks.size() > 1) found.insert(std::move(ranks));
  }
  return found;
}

std::vector<Composer::Stage> Composer::stages_of(const Groups& groups, PartRole role,
                                                 const Class& of_class) const {
  std::vector<Stage> stages;
  for (std::size_t group = 0; group < groups.ranks.size(); ++group) {
    const int kind = kind_of(groups.ranks[group].front());
    const GroupedStages asked =
        grouped_stages(setting_.key.problem, groups.sizes, static_cast<int>(group));
    const auto& stage = role == PartRole::before ? asked.before : asked.after;
    if (stage && std::ranges::find(of_class, kind) != of_class.end())
      stages.push_back({*stage, groups.topologies.inside[group], groups.ranks[group]});
  }
  return stages;
}

std::vector<Composition> Composer::with_bridges(const Stage& across,
                                                std::span<const Composition> insides) const {
  std::vector<Composition> found;
  const auto bridges = setting_.selected.find(across.problem.collective);
  if (bridges == setting_.selected.end()) return found;
  for (const Implementation* const implementation : bridges->second) {
    const auto bridge = parts_.cheapest(*implementation, std::span(&across, 1), kinds_);
    if (!bridge) continue;
    for (Composition whole : insides) {
      whole.parts.push_back({.role = PartRole::bridge, .kinds = {}, .variant = *bridge});
      if (std::ranges::find(found, whole) == found.end()) found.push_back(std::move(whole));
    }
  }
  return found;
}

Composer::Composed Composer::groupings(std::span<const Option> options) const {
  const Problem& problem = setting_.key.problem;
  const std::vector<Class> classes = classes_of(options);
  if (classes.size() < 2) return {};
  // Each class forms groups; the variants that they run are chosen below.
  Composition outline{.mode = CompositionMode::grouped, .parts = {{.role = PartRole::bridge}}};
  for (const Class& of_class : classes)
    outline.parts.push_back({.role = PartRole::before, .kinds = digests_of(of_class)});
  const std::vector<int> group_of_rank =
      grouping_of(outline, setting_.world.members, nodes_).group_of_rank;
  const Groups groups{.sizes = group_sizes(group_of_rank),
                      .ranks = ranks_by_group(group_of_rank, setting_.world.ranks),
                      .topologies = grouped_topologies(nodes_, group_of_rank, problem.collective)};
  if (std::ranges::all_of(groups.sizes, [](int size) { return size == 1; })) return {};
  if (std::string why = why_not_grouped(problem, groups.sizes); !why.empty())
    return {.compositions = {}, .why_none = std::move(why)};

  Composition library{.mode = CompositionMode::grouped, .parts = {}};
  Composition own = library;
  for (const Class& of_class : classes)
    for (const PartRole role : {PartRole::before, PartRole::after}) {
      const std::vector<Stage> stages = stages_of(groups, role, of_class);
      if (stages.empty()) continue;
      const PartChooser::Choice choice = parts_.choose(stages, of_class);
      if (!choice.own)
        return {.compositions = {},
                .why_none =
                    fmt::format("no implementation that was chosen does {} among ranks like {}",
                                describe(stages.front().problem), first_rank(of_class.front()))};
      const auto add = [&](Composition& to, const Variant& variant) {
        to.parts.push_back({.role = role, .kinds = digests_of(of_class), .variant = variant});
      };
      add(own, *choice.own);
      add(library, choice.library ? *choice.library : *choice.own);
    }
  const Stage across{grouped_stages(problem, groups.sizes, 0).bridge, groups.topologies.bridge, {}};
  Composed composed{.compositions = with_bridges(across, std::vector{library, own}),
                    .why_none = {}};
  if (composed.compositions.empty())
    composed.why_none = fmt::format("no implementation that was chosen does {} between the groups",
                                    describe(across.problem));
  return composed;
}

std::string Composer::why_not_grouped_here(const Composition& composition) const {
  const Problem& problem = setting_.key.problem;
  const Grouping grouping = grouping_of(composition, setting_.world.members, nodes_);
  const Groups groups{
      .sizes = group_sizes(grouping.group_of_rank),
      .ranks = ranks_by_group(grouping.group_of_rank, setting_.world.ranks),
      .topologies = grouped_topologies(nodes_, grouping.group_of_rank, problem.collective)};
  if (std::string why = why_not_grouped(problem, groups.sizes); !why.empty()) return why;
  const auto why_not_inside = [&](const std::optional<Problem>& stage,
                                  const std::optional<Variant>& variant, std::size_t group) {
    if (stage.has_value() != variant.has_value() ||
        (stage && find(*variant)->collective() != stage->collective))
      return fmt::format("its parts are not those of {}", name_of(problem.collective));
    if (!stage) return std::string();
    std::set<int> kinds;
    for (const int rank : groups.ranks[group]) kinds.insert(kind_of(rank));
    return parts_.why_not_among(*find(*variant), *variant,
                                {*stage, groups.topologies.inside[group], {}},
                                std::vector<int>(kinds.begin(), kinds.end()));
  };
  for (std::size_t group = 0; group < groups.sizes.size(); ++group) {
    const GroupedStages stages = grouped_stages(problem, groups.sizes, static_cast<int>(group));
    const GroupVariants& own = grouping.inside[group];
    std::string why = why_not_inside(stages.before, own.before, group);
    if (why.empty()) why = why_not_inside(stages.after, own.after, group);
    if (!why.empty()) return why;
  }
  const Implementation& bridge = *find(grouping.bridge);
  const Problem across = grouped_stages(problem, groups.sizes, 0).bridge;
  if (bridge.collective() != across.collective)
    return fmt::format("its bridge is not one of {}", name_of(problem.collective));
  return parts_.why_not_among(bridge, grouping.bridge, {across, groups.topologies.bridge, {}},
                              kinds_);
}

PlannedVariant Composer::describe_grouped(const Composition& composition) const {
  const TuningKey& key = setting_.key;
  const Grouping grouping = grouping_of(composition, setting_.world.members, nodes_);
  const GroupTopologies topologies =
      grouped_topologies(nodes_, grouping.group_of_rank, key.problem.collective);
  const Numerics numerics = grouped_numerics(key.problem, grouping, setting_.catalogue);
  Limits limits;
  for (const Part& part : composition.parts)
    limits = intersection(limits, find(part.variant)->limits(part.variant));
  // The parts' limits are about their own messages and ranks.
  if (limits.min_message.value != 0 || limits.max_message.value != 0)
    limits.min_message = limits.max_message = key.problem.message_size;
  // For an average, the parts' limits are about sums.
  if (key.problem.reduce_op == ReduceOp::avg && !limits.reduce_ops.empty())
    limits.reduce_ops = {ReduceOp::avg};
  limits.min_ranks = limits.max_ranks = key.topology.ranks;
  limits.ranks_multiple_of = 1;
  return {.family = std::string(mixed_family),
          .protocol = fmt::format("grouped;{}", parts_name(composition)),
          .rounding = numerics.rounding,
          .numeric_class = numerics.numeric_class,
          .limits = limits,
          .call_limit =
              call_limit(grouped_cost(key.problem, grouping, topologies, setting_.catalogue))};
}

}  // namespace colltune
