// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/problem.h"

#include "colltune/vocabulary/problem_form.h"

#include <algorithm>

namespace colltune {
std::string_view operation_name(const Problem& problem) {
  return problem.kind == ProblemKind::collective ? name_of(problem.collective)
                                                 : name_of(problem.kind);
}

std::string operation_text(const Problem& problem) {
  std::string text(operation_name(problem));
  if (problem.mesh) text += ' ' + shape_text(*problem.mesh) + ' ' + steps_text(*problem.mesh);
  return text;
}

bool reduces(const Problem& problem) {
  return problem.mesh.has_value() || problem.reduce_op != ReduceOp::none;
}

bool averages(const Problem& problem) {
  if (!problem.mesh) return problem.reduce_op == ReduceOp::avg;
  return std::ranges::find(problem.mesh->steps, ReduceOp::avg, &MeshStep::op) !=
         problem.mesh->steps.end();
}

void check(const Problem& problem) {
  if (problem.mesh.has_value() != (problem.kind == ProblemKind::mesh_reduce))
    throw Error(StatusCode::invalid_argument,
                problem.mesh ? "a mesh belongs to a mesh_reduce alone"
                             : "a mesh_reduce needs a mesh, and what is reduced over it");
  if (problem.mesh) {
    check(*problem.mesh);
    if (problem.collective != Collective::all_reduce || problem.reduce_op != ReduceOp::none)
      throw Error(StatusCode::invalid_argument,
                  "a mesh_reduce has the collective all_reduce and the reduce op none: its "
                  "operators stand in its mesh");
    return;
  }
  const bool reduces = shape_of(problem.collective).reduces;
  if (reduces == (problem.reduce_op != ReduceOp::none)) return;
  throw Error(StatusCode::invalid_argument,
              reduces ? std::string(name_of(problem.collective)) +
                            " needs a reduce op: sum, prod, min, max or avg"
                      : std::string(name_of(problem.collective)) +
                            " does not reduce; its reduce op is 'none', not '" +
                            std::string(name_of(problem.reduce_op)) + "'");
}

std::size_t block_elements(const Problem& problem, int ranks) {
  const std::uint64_t elements = problem.message_size.value / size_of(problem.data_type);
  return shape_of(problem.collective).has_block_per_rank()
             ? elements / static_cast<std::uint64_t>(ranks)
             : elements;
}

Bytes send_size(const Problem& problem, int ranks, bool is_root) {
  const BlockLayout shape = shape_of(problem.collective);
  if (shape.only_root_sends && !is_root) return {};
  const Bytes block{block_elements(problem, ranks) * size_of(problem.data_type)};
  return shape.sends_block_per_rank ? block * static_cast<std::uint64_t>(ranks) : block;
}

Bytes receive_size(const Problem& problem, int ranks, bool is_root) {
  const BlockLayout shape = shape_of(problem.collective);
  if (shape.only_root_receives && !is_root) return {};
  const Bytes block{block_elements(problem, ranks) * size_of(problem.data_type)};
  return shape.receives_block_per_rank ? block * static_cast<std::uint64_t>(ranks) : block;
}

Bytes round_message_size(Collective collective, DataType type, Bytes requested, int ranks) {
  const std::uint64_t unit =
      size_of(type) *
      (shape_of(collective).has_block_per_rank() ? static_cast<std::uint64_t>(ranks) : 1);
  return {requested.value / unit * unit};
}

bool has_one_buffer(const Problem& problem) {
  return problem.kind == ProblemKind::collective && problem.collective == Collective::broadcast;
}

Problem in_its_form(Problem problem) {
  problem.in_place = problem.in_place || has_one_buffer(problem);
  return problem;
}

std::string describe(const Problem& problem) {
  std::string text = operation_text(problem);
  text += ' ';
  text += name_of(problem.data_type);
  if (problem.reduce_op != ReduceOp::none) {
    text += ' ';
    text += name_of(problem.reduce_op);
  }
  text += ' ' + format_bytes(problem.message_size);
  if (problem.in_place && !has_one_buffer(problem)) text += " in-place";
  if (problem.registered) text += " registered";
  if (problem.graph_capture) text += " graph";
  if (problem.numeric_class != NumericClass::any) {
    text += ' ';
    text += name_of(problem.numeric_class);
  }
  return text;
}

}  // namespace colltune
