// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Determines the collectives of a form of a mesh reduction. Pure functions.

#include <algorithm>
#include <map>
#include <set>

#include "arithmetic/numerics.h"
#include "arithmetic/round_up.h"
#include "colltune/kernels/composition/mesh_reduce.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// A collective of the form: the message's type and numeric class, but other groups.
Problem part_problem(const Problem& whole, Collective collective, ReduceOp op, Bytes size,
                     bool in_place) {
  return {.collective = collective,
          .data_type = whole.data_type,
          .reduce_op = op,
          .message_size = size,
          .in_place = in_place,
          .registered = whole.registered,
          // Moving data does not change bits.
          .numeric_class = op == ReduceOp::none ? NumericClass::any : whole.numeric_class};
}

std::vector<int> sizes_of(const std::vector<int>& group_of_rank) {
  std::vector<int> sizes;
  for (const auto& ranks : ranks_by_group(group_of_rank))
    sizes.push_back(static_cast<int>(ranks.size()));
  return sizes;
}

const Part* part_in(const Composition& composition, PartRole role) {
  const auto found = std::ranges::find(composition.parts, role, &Part::role);
  return found == composition.parts.end() ? nullptr : &*found;
}

/// The groups across `groups`: ranks of a component with the same position in their groups.
std::vector<int> across(const std::vector<int>& groups, const std::vector<int>& component_of_rank) {
  const auto members = ranks_by_group(groups);
  std::vector<int> place(groups.size());
  for (const auto& ranks : members)
    for (std::size_t i = 0; i < ranks.size(); ++i)
      place[static_cast<std::size_t>(ranks[i])] = static_cast<int>(i);
  std::map<std::pair<int, int>, int> number;
  std::vector<int> out;
  for (std::size_t rank = 0; rank < groups.size(); ++rank)
    out.push_back(
        number.try_emplace({component_of_rank[rank], place[rank]}, static_cast<int>(number.size()))
            .first->second);
  return out;
}

std::string why_not_hierarchical(const Problem& problem, const Composition& composition,
                                 const Merge& merge) {
  const MeshReduction& mesh = *problem.mesh;
  const Part* const before = part_in(composition, PartRole::before);
  const Part* const after = part_in(composition, PartRole::after);
  if (before == nullptr || after == nullptr || before->step != after->step || !before->step ||
      *before->step < 0 || static_cast<std::size_t>(*before->step) >= mesh.steps.size())
    return "its parts before and after the bridge are not of one of the steps";
  const std::vector<int> sizes =
      sizes_of(groups_of(mesh, mesh.steps[static_cast<std::size_t>(*before->step)]));
  if (std::ranges::any_of(sizes, [&](int size) { return size != sizes.front(); }))
    return "the groups of step " + std::to_string(*before->step) + " are not equally large";
  if (sizes.front() == 1)
    return "the groups of step " + std::to_string(*before->step) + " are single ranks";
  const auto component_sizes = sizes_of(merge.component_of_rank);
  if (std::ranges::all_of(component_sizes, [&](int size) { return size == sizes.front(); }))
    return "there is nothing across the groups of step " + std::to_string(*before->step);
  return {};
}

MeshForm sequential_form(const Problem& problem, const Composition& composition) {
  const MeshReduction& mesh = *problem.mesh;
  MeshForm form;
  bool in_place = problem.in_place;
  for (std::size_t i = 0; i < mesh.steps.size(); ++i) {
    std::vector<int> groups = groups_of(mesh, mesh.steps[i]);
    const bool is_idle = std::ranges::all_of(sizes_of(groups), [](int size) { return size == 1; });
    if (is_idle) continue;
    form.calls.push_back({.group_of_rank = std::move(groups),
                          .problem = part_problem(problem, Collective::all_reduce, mesh.steps[i].op,
                                                  problem.message_size, in_place),
                          .part = &composition.parts[i]});
    in_place = true;
  }
  return form;
}

MeshForm merged_form(const Problem& problem, const Composition& composition, const Merge& merge) {
  MeshForm form;
  form.is_merged = true;
  form.divisors = merge.divisors;
  form.calls.push_back({.group_of_rank = merge.component_of_rank,
                        .problem = part_problem(problem, Collective::all_reduce, merge.op,
                                                problem.message_size, problem.in_place),
                        .part = &composition.parts.front()});
  return form;
}

MeshForm hierarchical_form(const Problem& problem, const Composition& composition,
                           const Merge& merge) {
  const MeshReduction& mesh = *problem.mesh;
  const Part& before = *part_in(composition, PartRole::before);
  MeshForm form;
  form.is_merged = true;
  form.divisors = merge.divisors;
  form.sharing = groups_of(mesh, mesh.steps[static_cast<std::size_t>(*before.step)]);
  form.shares = sizes_of(form.sharing).front();
  const auto shares = static_cast<std::uint64_t>(form.shares);
  form.padded = {round_up(problem.message_size.value, shares * size_of(problem.data_type))};
  const bool is_padded = form.padded != problem.message_size;
  Problem asked = problem;
  // Padded messages lie in the operation's own memory.
  if (is_padded) asked.registered = false;
  form.calls.push_back({.group_of_rank = form.sharing,
                        .problem = part_problem(asked, Collective::reduce_scatter, merge.op,
                                                form.padded, problem.in_place || is_padded),
                        .part = &before});
  form.calls.push_back({.group_of_rank = across(form.sharing, merge.component_of_rank),
                        .problem = part_problem(asked, Collective::all_reduce, merge.op,
                                                {form.padded.value / shares}, true),
                        .part = part_in(composition, PartRole::bridge),
                        .on_share = true});
  form.calls.push_back(
      {.group_of_rank = form.sharing,
       .problem = part_problem(asked, Collective::all_gather, ReduceOp::none, form.padded, true),
       .part = part_in(composition, PartRole::after)});
  return form;
}

bool is_of_unlike_ranks(CompositionMode mode) {
  return mode == CompositionMode::substituted || mode == CompositionMode::grouped;
}

const Implementation& implementation_of(const MeshCall& call, const Implementations& catalogue) {
  const auto* const found = find_implementation(catalogue, call.part->variant.implementation);
  if (found == nullptr)
    throw Error(StatusCode::invalid_argument, "composition: this build has no implementation " +
                                                  call.part->variant.implementation);
  return *found;
}

bool mesh_rounds(const Problem& problem) {
  return is_floating(problem.data_type) &&
         std::ranges::any_of(problem.mesh->steps, [](const MeshStep& step) {
           return step.op == ReduceOp::sum || step.op == ReduceOp::avg;
         });
}

}  // namespace

std::string why_not_mesh(const Problem& problem, const Composition& composition) {
  if (problem.graph_capture) return "it runs on the processor; no device graph can hold it";
  // Throws if the parts do not fit the mode.
  static_cast<void>(name_composition(operation_name(problem), composition));
  const MeshReduction& mesh = *problem.mesh;
  if (composition.mode == CompositionMode::sequential) {
    if (composition.parts.size() != mesh.steps.size())
      return "it has " + std::to_string(composition.parts.size()) + " parts for " +
             std::to_string(mesh.steps.size()) + " steps";
    for (std::size_t i = 0; i < composition.parts.size(); ++i)
      if (composition.parts[i].step != static_cast<int>(i))
        return "its parts are not those of the steps in their order";
    return {};
  }
  const Merge merge = merge_steps(mesh, problem.data_type);
  if (!merge.why_not.empty()) return merge.why_not;
  if (composition.mode == CompositionMode::hierarchical)
    return why_not_hierarchical(problem, composition, merge);
  if (composition.mode == CompositionMode::merged) return {};
  if (std::ranges::any_of(merge.component_of_rank, [](int component) { return component != 0; }))
    return "the steps do not connect all ranks";
  return {};
}

MeshForm mesh_form(const Problem& problem, const Composition& composition) {
  check(problem);
  if (const std::string why = why_not_mesh(problem, composition); !why.empty())
    throw Error(StatusCode::invalid_argument,
                "composition: " + describe(problem) + " is unavailable: " + why);
  if (is_of_unlike_ranks(composition.mode))
    throw Error(
        StatusCode::invalid_argument,
        "composition: a " + std::string(name_of(composition.mode)) +
            " one is no form of a mesh reduction, but of the all_reduce that it merges into");
  MeshForm form;
  if (composition.mode == CompositionMode::sequential) {
    form = sequential_form(problem, composition);
  } else {
    const Merge merge = merge_steps(*problem.mesh, problem.data_type);
    form = composition.mode == CompositionMode::merged
               ? merged_form(problem, composition, merge)
               : hierarchical_form(problem, composition, merge);
  }
  if (form.padded.value == 0) form.padded = problem.message_size;
  form.component_of_rank = components_of(*problem.mesh);
  return form;
}

std::optional<Problem> merged_problem(const Problem& problem, int& divisor) {
  const Merge merge = merge_steps(*problem.mesh, problem.data_type);
  const bool is_whole =
      std::ranges::all_of(merge.component_of_rank, [](int component) { return component == 0; });
  if (!merge.why_not.empty() || !is_whole) return {};
  divisor = merge.divisors.empty() ? 1 : merge.divisors.front();
  return part_problem(problem, Collective::all_reduce, merge.op, problem.message_size,
                      problem.in_place);
}

std::vector<MeshGroup> mesh_groups(const MeshCall& call, std::span<const int> nodes) {
  std::vector<MeshGroup> found;
  for (const std::vector<int>& ranks : ranks_by_group(call.group_of_rank)) {
    if (ranks.size() < 2) continue;
    std::map<int, int> ranks_of_node;
    for (const int rank : ranks) ++ranks_of_node[nodes[static_cast<std::size_t>(rank)]];
    Topology topology{.nodes = static_cast<int>(ranks_of_node.size()),
                      .ranks_per_node = 0,
                      .ranks = static_cast<int>(ranks.size())};
    for (const auto& [node, count] : ranks_of_node)
      topology.ranks_per_node = std::max(topology.ranks_per_node, count);
    if (std::ranges::find(found, topology, &MeshGroup::topology) == found.end())
      found.push_back({.topology = std::move(topology), .ranks = ranks});
  }
  return found;
}

Numerics mesh_numerics(const Problem& problem, const Composition& composition,
                       const Implementations& catalogue) {
  const MeshForm form = mesh_form(problem, composition);
  Numerics all;
  for (const MeshCall& call : form.calls)
    all = worse_of(all,
                   implementation_of(call, catalogue).numerics(call.problem, call.part->variant));
  const bool is_one_all_reduce = form.calls.size() == 1;
  // Ranks of different groups reduce what other ranks reduced, so the whole is never in rank order.
  // In sequence each group may choose its own order, but if every step is in rank order, all ranks
  // get the same bits.
  if (!is_one_all_reduce)
    all.numeric_class = composition.mode != CompositionMode::sequential ||
                                all.numeric_class == NumericClass::rank_order
                            ? std::min(all.numeric_class, NumericClass::same_bits)
                            : NumericClass::any;
  const bool is_one_step = problem.mesh->steps.size() == 1;
  if (composition.mode != CompositionMode::sequential && !is_one_step && mesh_rounds(problem))
    all.rounding = Rounding::each_step;
  return all;
}

Cost mesh_cost(const Problem& problem, const Composition& composition, std::span<const int> nodes,
               const Implementations& catalogue) {
  Cost sum;
  const MeshForm form = mesh_form(problem, composition);
  for (const MeshCall& call : form.calls) {
    Cost slowest;
    for (const MeshGroup& group : mesh_groups(call, nodes)) {
      const Cost own =
          implementation_of(call, catalogue).cost(call.problem, group.topology, call.part->variant);
      slowest = {std::max(slowest.steps, own.steps),
                 std::max(slowest.bytes_per_rank, own.bytes_per_rank),
                 std::max(slowest.reduced_bytes, own.reduced_bytes)};
    }
    sum = {sum.steps + slowest.steps, sum.bytes_per_rank + slowest.bytes_per_rank,
           sum.reduced_bytes + slowest.reduced_bytes};
  }
  return sum;
}

}  // namespace colltune
