// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/composition/grouped.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "arithmetic/numerics.h"
#include "grouped_groups.h"

namespace colltune {
namespace {

/// Builds the problems of one call's stages.
class StepWriter {
 public:
  explicit StepWriter(const Problem& whole) : whole_(whole) {}

  [[nodiscard]] Problem stage(Collective collective, std::uint64_t bytes, bool in_place) const {
    const bool reduces = shape_of(collective).reduces;
    return {.collective = collective,
            .data_type = whole_.data_type,
            .reduce_op = reduces ? op() : ReduceOp::none,
            .message_size = {bytes},
            .in_place = in_place,
            // Stages also work on memory that the operation owns, so registered buffers are treated
            // as plain ones.
            .registered = false,
            // Moving data does not change bits.
            .numeric_class = reduces ? whole_.numeric_class : NumericClass::any};
  }

 private:
  /// An average of the groups' averages would be another number: sums go across, and are divided
  /// once.
  [[nodiscard]] ReduceOp op() const {
    return whole_.reduce_op == ReduceOp::avg ? ReduceOp::sum : whole_.reduce_op;
  }

  const Problem& whole_;
};

Topology topology_among(std::span<const int> nodes, const std::vector<int>& ranks) {
  std::map<int, int> ranks_of_node;
  for (const int rank : ranks) ++ranks_of_node[nodes[static_cast<std::size_t>(rank)]];
  Topology topology{.nodes = static_cast<int>(ranks_of_node.size()),
                    .ranks_per_node = 0,
                    .ranks = static_cast<int>(ranks.size())};
  for (const auto& [node, count] : ranks_of_node)
    topology.ranks_per_node = std::max(topology.ranks_per_node, count);
  return topology;
}

/// The distinct topologies of the leaders, for every possible root.
std::set<Topology> bridge_topologies(std::span<const int> nodes, const Groups& groups,
                                     Collective collective) {
  std::set<Topology> all{topology_among(nodes, groups.leaders)};
  if (!shape_of(collective).has_root) return all;
  for (int root = 0; root < groups.ranks(); ++root) {
    std::vector<int> leaders = groups.leaders;
    leaders[static_cast<std::size_t>(groups.group_of(root))] = root;
    all.insert(topology_among(nodes, leaders));
  }
  return all;
}

Cost sum_of(const Cost& a, const Cost& b) {
  return {a.steps + b.steps, a.bytes_per_rank + b.bytes_per_rank,
          a.reduced_bytes + b.reduced_bytes};
}

Cost largest_of(const Cost& a, const Cost& b) {
  return {std::max(a.steps, b.steps), std::max(a.bytes_per_rank, b.bytes_per_rank),
          std::max(a.reduced_bytes, b.reduced_bytes)};
}

/// A stage in the form in which implementations are asked about it.
struct Question {
  const Implementation& implementation;
  const Variant& variant;
  const Problem& problem;
  const Topology& topology;
};

Support supports_stage(const Question& stage, const std::vector<int>& ranks,
                       const GroupedRanks& world, const std::string& where) {
  for (const int rank : ranks) {
    const Capability& capability = world.capabilities[static_cast<std::size_t>(rank)];
    const bool is_right_place = stage.implementation.runs_on_device() == capability.is_on_device();
    const Support support =
        is_right_place
            ? stage.implementation.supports(stage.problem, stage.topology, capability,
                                            stage.variant)
            : Support::no(capability.is_on_device() ? "it takes buffers in the host's memory"
                                                    : "it takes buffers on devices");
    if (!support)
      return Support::no(where + ", " + to_string(stage.variant) + " on rank " +
                         std::to_string(rank) + ": " + support.reason());
  }
  return Support::yes();
}

/// Throws unless the number of `what` given equals the number needed.
void require_each(std::string_view what, std::size_t given, std::size_t needed) {
  if (given != needed)
    throw Error(StatusCode::invalid_argument, "a collective by groups: " + std::string(what) +
                                                  " are given for " + std::to_string(given) +
                                                  ", not for " + std::to_string(needed));
}

}  // namespace

std::string why_not_grouped(const Problem& problem, std::span<const int> sizes) {
  if (sizes.size() < 2) return "it needs at least 2 groups";
  if (problem.graph_capture) return "it runs on the processor; no device graph can hold it";
  if (problem.counts != Counts::equal) return "its blocks are all of one length";
  if (!shape_of(problem.collective).reduces) return {};
  if (problem.numeric_class == NumericClass::rank_order)
    return "it accumulates group by group, not in rank order";
  return {};
}

GroupedStages grouped_stages(const Problem& problem, std::span<const int> sizes, int group) {
  const auto groups = static_cast<std::uint64_t>(sizes.size());
  const int ranks = std::accumulate(sizes.begin(), sizes.end(), 0);
  const auto own = static_cast<std::uint64_t>(sizes[static_cast<std::size_t>(group)]);
  const auto largest = static_cast<std::uint64_t>(*std::ranges::max_element(sizes));
  const std::uint64_t block = block_elements(problem, ranks) * size_of(problem.data_type);
  const std::uint64_t blocks = block * static_cast<std::uint64_t>(ranks);  // one block per rank
  const StepWriter writer(problem);
  const auto in_group = [&](Collective collective, std::uint64_t bytes, bool in_place) {
    return own == 1 ? std::optional<Problem>{} : writer.stage(collective, bytes, in_place);
  };
  switch (problem.collective) {
    case Collective::all_reduce:
      return {.before = in_group(Collective::reduce, block, problem.in_place),
              .bridge = writer.stage(Collective::all_reduce, block, problem.in_place),
              .after = in_group(Collective::broadcast, block, true)};
    case Collective::reduce:
      return {.before = in_group(Collective::reduce, block, false),
              .bridge = writer.stage(Collective::reduce, block, false)};
    case Collective::broadcast:
      return {.bridge = writer.stage(Collective::broadcast, block, problem.in_place),
              .after = in_group(Collective::broadcast, block, true)};
    case Collective::all_gather:
      return {.before = in_group(Collective::gather, own * block, false),
              .bridge = writer.stage(Collective::all_gather, groups * largest * block, true),
              .after = in_group(Collective::broadcast, blocks, true)};
    case Collective::reduce_scatter:
      return {.before = in_group(Collective::reduce, blocks, false),
              .bridge = writer.stage(Collective::reduce_scatter, groups * largest * block, false),
              .after = in_group(Collective::scatter, own * block, false)};
    case Collective::gather:
      return {.before = in_group(Collective::gather, own * block, false),
              .bridge = writer.stage(Collective::gather, groups * largest * block, true)};
    case Collective::scatter:
      return {.bridge = writer.stage(Collective::scatter, groups * largest * block, true),
              .after = in_group(Collective::scatter, own * block, false)};
    case Collective::all_to_all:
      return {
          .before = in_group(Collective::gather, own * blocks, false),
          .bridge = writer.stage(Collective::all_to_all, groups * largest * largest * block, false),
          .after = in_group(Collective::scatter, own * blocks, false)};
  }
  return {};  // not reached: the switch is complete
}

GroupTopologies grouped_topologies(std::span<const int> nodes, std::span<const int> group_of_rank,
                                   Collective collective) {
  const Groups groups(group_of_rank, {});
  require_each("the ranks' nodes", nodes.size(), group_of_rank.size());
  GroupTopologies topologies;
  for (const std::vector<int>& members : groups.members)
    topologies.inside.push_back(topology_among(nodes, members));
  topologies.bridge = *bridge_topologies(nodes, groups, collective).rbegin();
  return topologies;
}

Support supports_grouped(const Problem& problem, const Grouping& grouping,
                         const GroupedRanks& ranks, const Implementations& catalogue) {
  const Groups groups(grouping.group_of_rank, {});
  require_each("the ranks' capabilities", ranks.capabilities.size(), grouping.group_of_rank.size());
  if (std::string why = why_not_grouped(problem, groups.sizes); !why.empty())
    return Support::no(std::move(why));
  const GroupedImplementations found = find_implementations(problem, grouping, catalogue);
  const GroupTopologies topologies =
      grouped_topologies(ranks.nodes, grouping.group_of_rank, problem.collective);
  for (int group = 0; group < groups.count(); ++group) {
    const auto at = static_cast<std::size_t>(group);
    const GroupedStages stages = grouped_stages(problem, groups.sizes, group);
    const std::string where = "in group " + std::to_string(group);
    const auto supports = [&](const Implementation* implementation,
                              const std::optional<Variant>& variant,
                              const std::optional<Problem>& stage) {
      if (implementation == nullptr) return Support::yes();
      return supports_stage({*implementation, *variant, *stage, topologies.inside[at]},
                            groups.of_group(group), ranks, where);
    };
    const GroupVariants& own = grouping.inside[at];
    if (Support of = supports(found.inside[at].before, own.before, stages.before); !of) return of;
    if (Support of = supports(found.inside[at].after, own.after, stages.after); !of) return of;
  }
  std::vector<int> leaders = groups.leaders;
  if (shape_of(problem.collective).has_root) {
    leaders.resize(grouping.group_of_rank.size());
    std::iota(leaders.begin(), leaders.end(), 0);
  }
  const Problem across = grouped_stages(problem, groups.sizes, 0).bridge;
  for (const Topology& topology : bridge_topologies(ranks.nodes, groups, problem.collective))
    if (Support of = supports_stage({*found.bridge, grouping.bridge, across, topology}, leaders,
                                    ranks, "across the groups");
        !of)
      return of;
  return Support::yes();
}

Numerics grouped_numerics(const Problem& problem, const Grouping& grouping,
                          const Implementations& catalogue) {
  const GroupedImplementations found = find_implementations(problem, grouping, catalogue);
  const std::vector<int> sizes = group_sizes(grouping.group_of_rank);
  Numerics all = found.bridge->numerics(grouped_stages(problem, sizes, 0).bridge, grouping.bridge);
  if (shape_of(problem.collective).reduces)
    all.numeric_class = std::min(all.numeric_class, NumericClass::same_bits);
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    const GroupedStages stages = grouped_stages(problem, sizes, static_cast<int>(group));
    const auto& [before, after] = found.inside[group];
    const GroupVariants& own = grouping.inside[group];
    if (before != nullptr) {
      all = worse_of(all, before->numerics(*stages.before, *own.before));
      // Rounded once inside, and once again across.
      if (all.rounding == Rounding::once) all.rounding = Rounding::each_step;
    }
    if (after != nullptr) all = worse_of(all, after->numerics(*stages.after, *own.after));
  }
  // The sum is rounded before it is divided, and overflows before, if the type is too narrow.
  if (problem.reduce_op == ReduceOp::avg && all.rounding == Rounding::once)
    all.rounding = Rounding::each_step;
  return all;
}

Cost grouped_cost(const Problem& problem, const Grouping& grouping,
                  const GroupTopologies& topologies, const Implementations& catalogue) {
  const GroupedImplementations found = find_implementations(problem, grouping, catalogue);
  const std::vector<int> sizes = group_sizes(grouping.group_of_rank);
  require_each("the groups' topologies", topologies.inside.size(), sizes.size());
  Cost before;
  Cost after;
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    const GroupedStages stages = grouped_stages(problem, sizes, static_cast<int>(group));
    const auto& [first, last] = found.inside[group];
    const Topology& topology = topologies.inside[group];
    const GroupVariants& own = grouping.inside[group];
    if (first != nullptr)
      before = largest_of(before, first->cost(*stages.before, topology, *own.before));
    if (last != nullptr) after = largest_of(after, last->cost(*stages.after, topology, *own.after));
  }
  const Problem across = grouped_stages(problem, sizes, 0).bridge;
  return sum_of(sum_of(before, found.bridge->cost(across, topologies.bridge, grouping.bridge)),
                after);
}

}  // namespace colltune
