// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Which ranks reduce together, and what follows from it for merging. The membership matrix of a
// step is symmetric. So a row of the steps' product is computed by passing numbers through the
// steps from the last to the first: each member of a group gets the group's sum.

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/mesh.h"

namespace colltune {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

std::uint64_t add(std::uint64_t a, std::uint64_t b) { return a > most - b ? most : a + b; }
std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  return a != 0 && b > most / a ? most : a * b;
}

/// A step in the algebra. An average's rows are divided by their group's size. To compute with
/// integers, everything is multiplied by `scale`, which every group size divides.
struct Stage {
  std::vector<int> group_of_rank;
  std::vector<std::uint64_t> factor;  ///< for each group, the factor of its sum
  std::uint64_t scale = 1;
};

Stage plain_stage(std::vector<int> group_of_rank) {
  const auto groups = static_cast<std::size_t>(std::ranges::max(group_of_rank)) + 1;
  return {.group_of_rank = std::move(group_of_rank),
          .factor = std::vector<std::uint64_t>(groups, 1)};
}

Stage averaging_stage(std::vector<int> group_of_rank) {
  Stage stage = plain_stage(std::move(group_of_rank));
  std::vector<std::uint64_t> sizes(stage.factor.size(), 0);
  for (const int group : stage.group_of_rank) ++sizes[static_cast<std::size_t>(group)];
  for (const std::uint64_t size : sizes)
    stage.scale = multiply(stage.scale / std::gcd(stage.scale, size), size);
  for (std::size_t group = 0; group < sizes.size(); ++group)
    stage.factor[group] = stage.scale / sizes[group];
  return stage;
}

std::vector<std::uint64_t> row_of(const std::vector<Stage>& stages, std::size_t ranks, int row) {
  std::vector<std::uint64_t> entries(ranks, 0);
  entries[static_cast<std::size_t>(row)] = 1;
  std::vector<std::uint64_t> sums;
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
    sums.assign(stage->factor.size(), 0);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      auto& sum = sums[static_cast<std::size_t>(stage->group_of_rank[rank])];
      sum = add(sum, entries[rank]);
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto group = static_cast<std::size_t>(stage->group_of_rank[rank]);
      entries[rank] = multiply(sums[group], stage->factor[group]);
    }
  }
  return entries;
}

/// The steps restricted to `ranks`, with their groups renumbered. `groups` are those of each step
/// among all ranks.
std::vector<Stage> stages_among(const MeshReduction& mesh,
                                const std::vector<std::vector<int>>& groups,
                                const std::vector<int>& ranks, bool averages_divide) {
  std::vector<Stage> stages;
  for (std::size_t step = 0; step < mesh.steps.size(); ++step) {
    std::unordered_map<int, int> number;
    std::vector<int> own;
    for (const int rank : ranks)
      own.push_back(number
                        .try_emplace(groups[step][static_cast<std::size_t>(rank)],
                                     static_cast<int>(number.size()))
                        .first->second);
    stages.push_back(averages_divide && mesh.steps[step].op == ReduceOp::avg
                         ? averaging_stage(std::move(own))
                         : plain_stage(std::move(own)));
  }
  return stages;
}

/// The group of each rank, by step.
std::vector<std::vector<int>> groups_of_steps(const MeshReduction& mesh) {
  std::vector<std::vector<int>> groups;
  for (const MeshStep& step : mesh.steps) groups.push_back(groups_of(mesh, step));
  return groups;
}

std::string entry_text(int row, int column) {
  return "rank " + std::to_string(column) + "'s input in rank " + std::to_string(row) + "'s result";
}

std::string times_text(std::uint64_t count) {
  return count == 1 ? "once" : std::to_string(count) + " times";
}

enum class Rule { once, any_number, weights };

/// The operators of the steps in which some rank shares its group with another. The other steps
/// change nothing, whatever their operator.
std::vector<ReduceOp> working_operators(const MeshReduction& mesh,
                                        const std::vector<std::vector<int>>& groups) {
  std::vector<ReduceOp> ops;
  for (std::size_t step = 0; step < mesh.steps.size(); ++step)
    if (std::ranges::max(groups[step]) + 1 < ranks_of(mesh)) ops.push_back(mesh.steps[step].op);
  return ops;
}

/// What the steps require of the entries; empty if their operators never merge.
std::optional<Rule> rule_of(const std::vector<ReduceOp>& steps) {
  const auto are_all = [&](auto... ops) {
    return std::ranges::all_of(steps, [&](ReduceOp op) { return ((op == ops) || ...); });
  };
  if (are_all(ReduceOp::max) || are_all(ReduceOp::min)) return Rule::any_number;
  if (are_all(ReduceOp::sum) || are_all(ReduceOp::prod)) return Rule::once;
  if (are_all(ReduceOp::sum, ReduceOp::avg)) return Rule::weights;
  return {};
}

/// The divisor of one component's merged sum (1: none), or why it cannot be merged.
struct ComponentMerge {
  std::uint64_t divisor = 1;
  std::string why_not;
};

/// Examines the results of the first `rows` ranks.
ComponentMerge judge(const std::vector<Stage>& stages, const std::vector<int>& ranks,
                     std::size_t rows, Rule rule, std::string_view op) {
  std::uint64_t scale = 1;
  for (const Stage& stage : stages) scale = multiply(scale, stage.scale);
  std::uint64_t expected = 1;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = row_of(stages, ranks.size(), static_cast<int>(i));
    for (std::size_t j = 0; j < ranks.size(); ++j) {
      const std::string which = entry_text(ranks[i], ranks[j]);
      switch (rule) {
        case Rule::once:
          if (row[j] != 1)
            return {.why_not = "the steps count " + which + " " + times_text(row[j]) + ", one " +
                               std::string(op) + " over all of its ranks counts it once"};
          break;
        case Rule::any_number:
          if (row[j] == 0) return {.why_not = "the steps leave " + which + " out"};
          break;
        case Rule::weights:
          if (row[j] == most || scale == most)
            return {.why_not = "the weight of " + which + " is a fraction too long to be compared"};
          if (row[j] == 0) return {.why_not = "the steps leave " + which + " out"};
          if (i == 0 && j == 0) expected = row[j];
          if (row[j] != expected)
            return {.why_not = "the steps weigh " + which + " " + std::to_string(row[j]) + "/" +
                               std::to_string(scale) + ", and " + entry_text(ranks[0], ranks[0]) +
                               " " + std::to_string(expected) + "/" + std::to_string(scale)};
          break;
      }
    }
  }
  if (rule != Rule::weights) return {};
  if (scale % expected != 0)
    return {.why_not = "the steps weigh each input " + std::to_string(expected) + "/" +
                       std::to_string(scale) + ", which is no sum divided by a whole number"};
  return {.divisor = scale / expected};
}

}  // namespace

std::vector<int> groups_of(const MeshReduction& mesh, const MeshStep& step) {
  if (!step.dimension) return step.groups;
  const auto dimension = static_cast<std::size_t>(*step.dimension);
  int inner = 1;  // distance in ranks between neighbouring coordinates of the dimension
  for (std::size_t d = dimension + 1; d < mesh.shape.size(); ++d) inner *= mesh.shape[d];
  const int extent = mesh.shape[dimension];
  std::vector<int> groups;
  for (int rank = 0; rank < ranks_of(mesh); ++rank)
    groups.push_back(rank / (inner * extent) * inner + rank % inner);
  return groups;
}

std::vector<int> components_of(const MeshReduction& mesh) {
  const auto ranks = static_cast<std::size_t>(ranks_of(mesh));
  // The lowest rank that each rank is known to be connected with: union by the smaller root.
  std::vector<std::size_t> parent(ranks);
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root_of = [&](std::size_t rank) {
    while (parent[rank] != rank) rank = parent[rank] = parent[parent[rank]];
    return rank;
  };
  for (const MeshStep& step : mesh.steps) {
    const std::vector<int> groups = groups_of(mesh, step);
    std::vector<std::size_t> first(ranks, ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      auto& other = first[static_cast<std::size_t>(groups[rank])];
      if (other == ranks) other = rank;
      const std::size_t a = root_of(rank);
      const std::size_t b = root_of(other);
      parent[std::max(a, b)] = std::min(a, b);
    }
  }
  std::vector<int> number(ranks, -1);
  int next = 0;
  std::vector<int> components;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    int& own = number[root_of(rank)];
    if (own < 0) own = next++;
    components.push_back(own);
  }
  return components;
}

std::vector<std::vector<int>> ranks_by_group(const std::vector<int>& group_of_rank) {
  std::vector<std::vector<int>> groups;
  for (std::size_t rank = 0; rank < group_of_rank.size(); ++rank) {
    const auto group = static_cast<std::size_t>(group_of_rank[rank]);
    if (group >= groups.size()) groups.resize(group + 1);
    groups[group].push_back(static_cast<int>(rank));
  }
  return groups;
}

std::vector<std::uint64_t> membership_row(const MeshReduction& mesh, int row) {
  std::vector<int> all(static_cast<std::size_t>(ranks_of(mesh)));
  std::iota(all.begin(), all.end(), 0);
  return row_of(stages_among(mesh, groups_of_steps(mesh), all, false), all.size(), row);
}

std::uint64_t merging_work(const MeshReduction& mesh) {
  const auto ranks = static_cast<std::uint64_t>(ranks_of(mesh));
  const bool has_groups = std::ranges::any_of(
      mesh.steps, [](const MeshStep& step) { return !step.dimension.has_value(); });
  return multiply(has_groups ? multiply(ranks, ranks) : ranks, mesh.steps.size());
}

Merge merge_steps(const MeshReduction& mesh, DataType type) {
  check(mesh);
  Merge merge{.component_of_rank = components_of(mesh), .op = mesh.steps.front().op};
  const auto groups = groups_of_steps(mesh);
  const std::vector<ReduceOp> ops = working_operators(mesh, groups);
  if (ops.empty()) return merge;
  merge.op = ops.front();
  const bool averages = std::ranges::find(ops, ReduceOp::avg) != ops.end();
  if (averages && !is_floating(type)) {
    merge.why_not = "an average of integers truncates at each step";
    return merge;
  }
  const auto rule = rule_of(ops);
  if (!rule) {
    merge.why_not = "steps of unlike operators merge only where all are sum or avg";
    return merge;
  }
  // Along dimensions all ranks are equivalent: shifting all of them changes no group. So one rank's
  // row is enough.
  const bool are_alike = std::ranges::all_of(
      mesh.steps, [](const MeshStep& step) { return step.dimension.has_value(); });
  bool is_plain_average = averages;
  ComponentMerge component;
  for (const std::vector<int>& ranks : ranks_by_group(merge.component_of_rank)) {
    if (!are_alike || merge.divisors.empty())
      component = judge(stages_among(mesh, groups, ranks, *rule == Rule::weights), ranks,
                        are_alike ? 1 : ranks.size(), *rule, name_of(merge.op));
    if (component.why_not.empty() && component.divisor > most_mesh_ranks)
      component.why_not = "it divides by " + std::to_string(component.divisor) + ", more than " +
                          std::to_string(most_mesh_ranks);
    if (!component.why_not.empty()) {
      merge.why_not = std::move(component.why_not);
      merge.divisors.clear();
      return merge;
    }
    is_plain_average = is_plain_average && component.divisor == ranks.size();
    merge.divisors.push_back(static_cast<int>(component.divisor));
  }
  if (averages) merge.op = is_plain_average ? ReduceOp::avg : ReduceOp::sum;
  if (is_plain_average || std::ranges::all_of(merge.divisors, [](int one) { return one == 1; }))
    merge.divisors.clear();
  return merge;
}

}  // namespace colltune
