// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "staged.h"

#include <algorithm>
#include <array>

namespace colltune {
namespace {

// From a share of the L1 cache to half of a usual L2 cache: beyond, a chunk that a peer has just
// written is read from memory (facts: 12 to 18 GB/s between cores, 16 MiB no faster than 1 MiB).
constexpr std::array<std::int64_t, 4> chunk_sizes{16 << 10, 64 << 10, 256 << 10, 1 << 20};

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Staging::Staging(Communicator& communicator, std::size_t chunk, int words, Deadline deadline)
    : slot_size_(round_up(chunk, Signals::stride)),
      memory_(communicator.allocate({2 * slot_size_ + Signals::size(words)}, deadline)),
      signals_(communicator, *memory_, 2 * slot_size_) {}

std::vector<Variant> StagedAllReduce::variants(const Problem& problem, const Topology&,
                                               const Capability&) const {
  // The smallest chunk always, and each that is not more than the message needs.
  std::vector<Variant> all;
  for (std::size_t i = 0; i < chunk_sizes.size(); ++i)
    if (i == 0 || static_cast<std::uint64_t>(chunk_sizes[i - 1]) < problem.message_size.value)
      all.push_back({std::string(name()), {{"chunk", chunk_sizes[i]}}});
  return all;
}

Support StagedAllReduce::supports(const Problem& problem, const Topology& topology,
                                  const Capability&, const Variant& variant) const {
  if (problem.collective != collective()) return Support::no("it is an all_reduce");
  if (topology.nodes > 1)
    return Support::no("it works in shared memory; the ranks are on " +
                       std::to_string(topology.nodes) + " nodes");
  if (problem.graph_capture)
    return Support::no("it runs on the processor; no device graph can hold it");
  const std::int64_t chunk = number(variant, "chunk");
  if (chunk < 8 || chunk % 8 != 0 || chunk > (std::int64_t{1} << 30))
    return Support::no("chunk must be a multiple of 8 bytes up to 1GiB, not " +
                       std::to_string(chunk));
  if (std::string why = why_outside(limits(variant), problem, topology.ranks); !why.empty())
    return Support::no(std::move(why));
  return Support::yes();
}

Limits StagedAllReduce::limits(const Variant&) const { return {}; }

Numerics StagedAllReduce::numerics(const Problem& problem, const Variant&) const {
  // Rank order everywhere. float and double have no wider accumulator here; narrower types do.
  const bool rounds = is_floating(problem.data_type) && problem.reduce_op != ReduceOp::min &&
                      problem.reduce_op != ReduceOp::max;
  const bool is_wide = problem.data_type == DataType::f32 || problem.data_type == DataType::f64;
  return {.rounding = !rounds   ? Rounding::exact
                      : is_wide ? Rounding::each_step
                                : Rounding::once,
          .numeric_class = NumericClass::rank_order};
}

std::string StagedAllReduce::protocol(const Problem& problem, const Variant& variant) const {
  // Chunk and element decide where data lies in the staging memory, and how often ranks meet.
  return "staged;" + to_string(variant) + ";" + std::string(name_of(problem.data_type)) + ";" +
         std::string(name_of(problem.reduce_op));
}

ChunkedCall make_chunked_call(const Communicator& communicator, const Call& call,
                              const Variant& variant) {
  const Problem& problem = call.problem;
  const std::size_t element = size_of(problem.data_type);
  const std::size_t total = block_elements(problem, communicator.size()) * element;
  const auto wanted = static_cast<std::size_t>(number(variant, "chunk"));
  return {.call = call,
          .reduction = {problem.data_type, problem.reduce_op, communicator.size()},
          .element_size = element,
          .chunk = std::min(wanted, std::max(total, element)),
          .total = total};
}

}  // namespace colltune
