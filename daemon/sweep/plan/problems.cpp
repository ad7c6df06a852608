// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "colltune/vocabulary/problem_form.h"

namespace colltune {
namespace {

std::vector<bool> values_of(const BooleanAxis& axis) {
  std::vector<bool> values;
  if (axis.off) values.push_back(false);
  if (axis.on) values.push_back(true);
  return values;
}

/// A collective with one buffer has only one form, whatever is asked for.
std::vector<bool> places_of(const SweepSpec& spec, Collective collective) {
  return has_one_buffer({.collective = collective}) ? std::vector<bool>{true}
                                                    : values_of(spec.in_place);
}

/// Collectives whose counts are always equal have one form, whatever is asked for.
std::vector<Counts> counts_of(const SweepSpec& spec, Collective collective) {
  return may_have_unequal_counts({.collective = collective}) ? spec.counts
                                                             : std::vector{Counts::equal};
}

class ProblemList {
 public:
  ProblemList(std::span<const Bytes> sizes, int ranks) : sizes_(sizes), ranks_(ranks) {}

  void add(Problem problem) {
    std::set<Bytes> rounded;
    for (const Bytes size : sizes_)
      if (set_size(problem, size) && rounded.insert(problem.message_size).second)
        found_.problems.push_back({.problem = problem});
  }
  /// Adds what is not yet there, and gives all of it the weights of the calls.
  void add_calls(std::span<const CallSpec> calls) {
    std::map<Problem, double> weights;
    std::vector<Problem> in_order;
    for (const CallSpec& call : calls) {
      Problem problem = in_its_form({.collective = call.collective,
                                     .data_type = call.data_type,
                                     .reduce_op = call.reduce_op,
                                     .counts = call.counts});
      if (!set_size(problem, call.size)) continue;
      const auto [known, is_new] = weights.try_emplace(problem, 0.0);
      known->second += call.weight;
      if (is_new) in_order.push_back(problem);
    }
    std::set<Problem> of_product;
    for (AskedProblem& asked : found_.problems)
      if (const auto named = weights.find(asked.problem); named != weights.end()) {
        asked.weight = named->second;
        of_product.insert(asked.problem);
      }
    for (const Problem& problem : in_order)
      if (!of_product.contains(problem))
        found_.problems.push_back({.problem = problem, .weight = weights.at(problem)});
  }
  void skip(const Problem& problem, std::string reason) {
    found_.skipped.push_back({.problem = problem, .reason = std::move(reason)});
  }
  [[nodiscard]] Problems take() { return std::move(found_); }

 private:
  /// False, with an entry among what is skipped, if `size` holds no element for some rank.
  bool set_size(Problem& problem, Bytes size) {
    problem.message_size =
        round_message_size(problem.collective, problem.data_type, size, ranks_, problem.counts);
    if (problem.message_size.value > 0) return true;
    Problem asked = problem;
    asked.message_size = size;
    skip(asked, problem.counts == Counts::equal
                    ? fmt::format("{} is less than one {} element for each of {} rank(s)",
                                  format_bytes(size), name_of(problem.data_type), ranks_)
                    : fmt::format("{} of {} cannot be blocks of counts '{}' on {} rank(s)",
                                  format_bytes(size), name_of(problem.data_type),
                                  name_of(problem.counts), ranks_));
    return false;
  }

  std::span<const Bytes> sizes_;
  int ranks_;
  Problems found_;
};

void add_product(const SweepSpec& spec, int ranks, ProblemList& list) {
  for (const Collective collective : spec.collectives) {
    const bool reduces = shape_of(collective).reduces;
    const std::vector<ReduceOp> ops =
        reduces ? spec.reduce_ops : std::vector<ReduceOp>{ReduceOp::none};
    for (const DataType type : spec.data_types)
      for (const ReduceOp op : ops)
        for (const bool captured : values_of(spec.graph_capture))
          for (const bool registered : values_of(spec.registered))
            for (const bool in_place : places_of(spec, collective))
              for (const Counts counts : counts_of(spec, collective))
                list.add({.collective = collective,
                          .data_type = type,
                          .reduce_op = op,
                          .in_place = in_place,
                          .registered = registered,
                          .graph_capture = captured,
                          .counts = counts});
  }
  for (const MeshReduction& mesh : spec.meshes) {
    Problem problem{.kind = ProblemKind::mesh_reduce, .reduce_op = ReduceOp::none, .mesh = mesh};
    if (ranks != ranks_of(mesh)) {
      list.skip(problem,
                fmt::format("the mesh has {} ranks, this world {}", ranks_of(mesh), ranks));
      continue;
    }
    for (const DataType type : spec.data_types)
      for (const bool registered : values_of(spec.registered))
        for (const bool in_place : values_of(spec.in_place)) {
          problem.data_type = type;
          problem.in_place = in_place;
          problem.registered = registered;
          list.add(problem);
        }
  }
}

}  // namespace

Problems problems_of(const WorldRequest& request) {
  ProblemList list(request.sizes, request.ranks);
  if (!request.sizes.empty()) add_product(request.spec, request.ranks, list);
  list.add_calls(request.calls);
  return list.take();
}

Extent extent_of(const SweepSpec& spec, std::size_t worlds) {
  const std::size_t modes = (spec.in_place.off + spec.in_place.on) *
                            static_cast<std::size_t>(spec.registered.off + spec.registered.on) *
                            values_of(spec.graph_capture).size() *
                            std::max<std::size_t>(1, spec.counts.size());
  const std::size_t sizes = spec.sizes.size() + spec.holdout_sizes.size();
  const std::size_t operations =
      spec.collectives.size() * spec.reduce_ops.size() + spec.meshes.size();
  return {.keys = worlds * operations * spec.data_types.size() * sizes * modes + spec.calls.size(),
          .factors = fmt::format(
              "{} worlds x ({} collectives x {} ops + {} meshes) x {} types x {} sizes x {} buffer "
              "modes{}",
              worlds, spec.collectives.size(), spec.reduce_ops.size(), spec.meshes.size(),
              spec.data_types.size(), sizes, modes,
              spec.calls.empty() ? std::string() : fmt::format(" + {} calls", spec.calls.size()))};
}

}  // namespace colltune
