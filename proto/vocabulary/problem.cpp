// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/problem.h"

#include "colltune/vocabulary/problem_form.h"

#include <algorithm>
#include <numeric>

namespace colltune {
namespace {

/// SplitMix64's mixing of one number (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
}

/// `elements` shared out by weights, in whole elements that sum up exactly.
std::vector<std::size_t> shared_out(std::uint64_t elements,
                                    std::span<const std::uint64_t> weights) {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t all = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  std::vector<std::size_t> blocks;
  std::uint64_t weight = 0;
  std::uint64_t begin = 0;
  for (const std::uint64_t own : weights) {
    weight += own;
    const auto end = static_cast<std::uint64_t>(Wide{elements} * weight / all);
    blocks.push_back(static_cast<std::size_t>(end - begin));
    begin = end;
  }
  return blocks;
}

/// Elements of each rank's block, if there are enough elements.
std::vector<std::size_t> one_large_block(std::uint64_t elements, std::size_t ranks) {
  const std::uint64_t large = elements - elements / 4;
  std::vector<std::size_t> blocks =
      shared_out(elements - large, std::vector<std::uint64_t>(ranks - 1, 1));
  blocks.push_back(static_cast<std::size_t>(large));
  return blocks;
}

/// Weights that a few ranks happen to get may give another class; then the next ones are taken.
std::vector<std::size_t> random_blocks(std::uint64_t elements, std::size_t ranks) {
  constexpr std::uint64_t largest_weight = 7;
  constexpr std::uint64_t attempts = 64;
  for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
    std::vector<std::uint64_t> weights;
    for (std::uint64_t rank = 0; rank < ranks; ++rank)
      weights.push_back(1 + mixed(mixed(attempt) + rank) % largest_weight);
    std::vector<std::size_t> blocks = shared_out(elements, weights);
    if (counts_class(blocks) == Counts::random) return blocks;
  }
  return {};
}

}  // namespace

std::string_view operation_name(const Problem& problem) {
  return problem.kind == ProblemKind::collective ? name_of(problem.collective)
                                                 : name_of(problem.kind);
}

std::string operation_text(const Problem& problem) {
  std::string text(operation_name(problem));
  if (problem.mesh) text += ' ' + shape_text(*problem.mesh) + ' ' + steps_text(*problem.mesh);
  if (problem.counts != Counts::equal) text += ' ' + std::string(name_of(problem.counts));
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

bool may_have_unequal_counts(const Problem& problem) {
  return problem.kind == ProblemKind::collective &&
         (problem.collective == Collective::all_gather ||
          problem.collective == Collective::reduce_scatter);
}

void check(const Problem& problem) {
  if (problem.counts != Counts::equal && !may_have_unequal_counts(problem))
    throw Error(StatusCode::invalid_argument,
                "the counts of " + std::string(operation_name(problem)) + " are equal, not " +
                    std::string(name_of(problem.counts)) +
                    "; unequal ones are for all_gather and reduce_scatter");
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

namespace {

void require_equal_counts(const Problem& problem) {
  if (problem.counts != Counts::equal)
    throw Error(StatusCode::internal,
                "the sizes of buffers depend on the blocks of " + describe(problem));
}

std::size_t sum_of(std::span<const std::size_t> blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::size_t{0});
}

}  // namespace

Bytes send_size(const Problem& problem, int ranks, bool is_root) {
  require_equal_counts(problem);
  const BlockLayout shape = shape_of(problem.collective);
  if (shape.only_root_sends && !is_root) return {};
  const Bytes block{block_elements(problem, ranks) * size_of(problem.data_type)};
  return shape.sends_block_per_rank ? block * static_cast<std::uint64_t>(ranks) : block;
}

Bytes receive_size(const Problem& problem, int ranks, bool is_root) {
  require_equal_counts(problem);
  const BlockLayout shape = shape_of(problem.collective);
  if (shape.only_root_receives && !is_root) return {};
  const Bytes block{block_elements(problem, ranks) * size_of(problem.data_type)};
  return shape.receives_block_per_rank ? block * static_cast<std::uint64_t>(ranks) : block;
}

Bytes send_size(const Problem& problem, int ranks, std::span<const std::size_t> blocks, int rank,
                int root) {
  if (problem.counts == Counts::equal) return send_size(problem, ranks, rank == root);
  return {shape_of(problem.collective).sends_block_per_rank
              ? sum_of(blocks)
              : blocks[static_cast<std::size_t>(rank)]};
}

Bytes receive_size(const Problem& problem, int ranks, std::span<const std::size_t> blocks, int rank,
                   int root) {
  if (problem.counts == Counts::equal) return receive_size(problem, ranks, rank == root);
  return {shape_of(problem.collective).receives_block_per_rank
              ? sum_of(blocks)
              : blocks[static_cast<std::size_t>(rank)]};
}

std::uint64_t message_size_unit(Collective collective, DataType type, int ranks, Counts counts) {
  const bool has_equal_blocks =
      shape_of(collective).has_block_per_rank() && counts == Counts::equal;
  return size_of(type) * (has_equal_blocks ? static_cast<std::uint64_t>(ranks) : 1);
}

Bytes round_message_size(Collective collective, DataType type, Bytes requested, int ranks,
                         Counts counts) {
  const std::uint64_t unit = message_size_unit(collective, type, ranks, counts);
  const Bytes rounded{requested.value / unit * unit};
  if (counts == Counts::equal) return rounded;
  const Problem problem{
      .collective = collective, .data_type = type, .message_size = rounded, .counts = counts};
  return typical_blocks(problem, ranks).empty() ? Bytes{} : rounded;
}

Counts counts_class(std::span<const std::size_t> blocks) {
  if (blocks.empty()) return Counts::equal;
  const auto [least, most] = std::ranges::minmax(blocks);
  if (least == most) return Counts::equal;
  // In floating point, since a product may exceed 64 bits; both sides are rounded alike on all
  // ranks.
  const auto all = static_cast<double>(sum_of(blocks));
  const auto largest = static_cast<double>(most);
  const auto others = static_cast<double>(blocks.size() - 1);
  return 2 * largest >= all && largest * others >= 2 * (all - largest) ? Counts::one_large
                                                                       : Counts::random;
}

std::vector<std::size_t> typical_blocks(const Problem& problem, int ranks) {
  if (problem.counts == Counts::equal || ranks < 2) return {};
  const std::size_t element = size_of(problem.data_type);
  const std::uint64_t elements = problem.message_size.value / element;
  const auto all_ranks = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> blocks = problem.counts == Counts::one_large
                                        ? one_large_block(elements, all_ranks)
                                        : random_blocks(elements, all_ranks);
  if (counts_class(blocks) != problem.counts) return {};
  for (std::size_t& block : blocks) block *= element;
  return blocks;
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
