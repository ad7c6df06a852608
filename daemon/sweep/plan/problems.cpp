// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "problems.h"

#include <fmt/format.h>

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

class ProblemList {
 public:
  ProblemList(const std::vector<Bytes>& sizes, int ranks) : sizes_(sizes), ranks_(ranks) {}

  void add(Problem problem) {
    std::set<Bytes> rounded;
    for (const Bytes size : sizes_) {
      problem.message_size =
          round_message_size(problem.collective, problem.data_type, size, ranks_);
      if (problem.message_size.value == 0) {
        Problem asked = problem;
        asked.message_size = size;
        skip(asked, fmt::format("{} is less than one {} element for each of {} rank(s)",
                                format_bytes(size), name_of(problem.data_type), ranks_));
      } else if (rounded.insert(problem.message_size).second) {
        found_.problems.push_back(problem);
      }
    }
  }
  void skip(const Problem& problem, std::string reason) {
    found_.skipped.push_back({.problem = problem, .reason = std::move(reason)});
  }
  [[nodiscard]] Problems take() { return std::move(found_); }

 private:
  const std::vector<Bytes>& sizes_;
  int ranks_;
  Problems found_;
};

}  // namespace

Problems problems_of(const SweepSpec& spec, const std::vector<Bytes>& sizes, int ranks) {
  ProblemList list(sizes, ranks);
  for (const Collective collective : spec.collectives) {
    const bool reduces = shape_of(collective).reduces;
    const std::vector<ReduceOp> ops =
        reduces ? spec.reduce_ops : std::vector<ReduceOp>{ReduceOp::none};
    for (const DataType type : spec.data_types)
      for (const ReduceOp op : ops)
        for (const bool captured : values_of(spec.graph_capture))
          for (const bool registered : values_of(spec.registered))
            for (const bool in_place : places_of(spec, collective))
              list.add({.collective = collective,
                        .data_type = type,
                        .reduce_op = op,
                        .in_place = in_place,
                        .registered = registered,
                        .graph_capture = captured});
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
  return list.take();
}

Extent extent_of(const SweepSpec& spec, std::size_t worlds) {
  const std::size_t modes = (spec.in_place.off + spec.in_place.on) *
                            static_cast<std::size_t>(spec.registered.off + spec.registered.on) *
                            values_of(spec.graph_capture).size();
  const std::size_t sizes = spec.sizes.size() + spec.holdout_sizes.size();
  const std::size_t operations =
      spec.collectives.size() * spec.reduce_ops.size() + spec.meshes.size();
  return {.keys = worlds * operations * spec.data_types.size() * sizes * modes,
          .factors = fmt::format(
              "{} worlds x ({} collectives x {} ops + {} meshes) x {} types x {} sizes x {} buffer "
              "modes",
              worlds, spec.collectives.size(), spec.reduce_ops.size(), spec.meshes.size(),
              spec.data_types.size(), sizes, modes)};
}

}  // namespace colltune
