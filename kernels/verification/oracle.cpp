// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/verification/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "oracle_values.h"

namespace colltune {
namespace {

constexpr int all_ranks = -1;  ///< the source of a segment that is a reduction

/// `count` elements of the receive buffer, starting at `to`: what `source` holds, starting at
/// `from`.
struct Segment {
  int source = all_ranks;
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t count = 0;
};

/// The same of a call whose blocks differ in length.
std::vector<Segment> segments_of_unequal(const VerifiedCall& call, int rank) {
  const std::size_t element = size_of(call.problem.data_type);
  std::vector<Segment> segments;
  std::size_t start = 0;
  for (int source = 0; source < call.ranks; ++source) {
    const std::size_t count = call.blocks.at(static_cast<std::size_t>(source)) / element;
    if (call.problem.collective == Collective::all_gather)
      segments.push_back({source, 0, start, count});
    else if (source == rank)
      segments.push_back({all_ranks, start, 0, count});
    start += count;
  }
  return segments;
}

std::vector<Segment> segments_of(const VerifiedCall& call, int rank) {
  if (call.problem.counts != Counts::equal) return segments_of_unequal(call, rank);
  const std::size_t block = block_elements(call.problem, call.ranks);
  const std::size_t own = block * static_cast<std::size_t>(rank);
  std::vector<Segment> segments;
  switch (call.problem.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
      return {{all_ranks, 0, 0, block}};
    case Collective::reduce_scatter:
      return {{all_ranks, own, 0, block}};
    case Collective::broadcast:
      return {{call.root, 0, 0, block}};
    case Collective::scatter:
      return {{call.root, own, 0, block}};
    case Collective::all_gather:
    case Collective::gather:
    case Collective::all_to_all:
      break;
  }
  const bool scatters = call.problem.collective == Collective::all_to_all;
  for (int source = 0; source < call.ranks; ++source)
    segments.push_back(
        {source, scatters ? own : 0, block * static_cast<std::size_t>(source), block});
  return segments;
}

std::string print_element(DataType type, const std::byte* at) {
  std::string bits;
  for (std::size_t i = size_of(type); i-- > 0;)
    bits += fmt::format("{:02x}", static_cast<unsigned>(at[i]));
  return fmt::format("{} (0x{})", number_at(type, at), bits);
}

bool is_near_enough(const OracleData& data, std::size_t position, const std::byte* expected,
                    const std::byte* got) {
  const DataType type = data.source().type;
  const double off = std::abs(number_at(type, got) - number_at(type, expected));
  return off <= data.rounding_bound(position);  // false for a NaN
}

/// How the elements of one rank's result are compared.
struct Comparison {
  const VerifiedCall& call;
  const OracleData& data;
  Rounding rounding = Rounding::exact;
};

/// Whether two elements with different bits are both right.
bool may_differ(const Comparison& by, std::size_t position, const std::byte* expected,
                const std::byte* got) {
  const Problem& problem = by.call.problem;
  if (!reduces(problem) || !is_floating(problem.data_type)) return false;
  if (number_at(problem.data_type, expected) == 0 && number_at(problem.data_type, got) == 0)
    return true;
  const bool rounds = by.call.pattern == DataPattern::rounding || averages(problem);
  return by.rounding == Rounding::each_step && rounds &&
         is_near_enough(by.data, position, expected, got);
}

/// The expected elements of a segment's first period.
std::vector<std::byte> expected_elements(const OracleData& data, const Segment& segment) {
  const std::size_t length = std::min(segment.count, pattern_period);
  std::vector<std::byte> elements(length * size_of(data.source().type));
  const std::size_t first = data.position_of(segment.from);
  if (segment.source == all_ranks)
    data.write_reduced(first, elements);
  else
    data.write_inputs(segment.source, first, elements);
  return elements;
}

std::optional<Mismatch> compare_elements(const Comparison& by, const Segment& segment,
                                         std::size_t done, std::size_t count,
                                         const std::byte* expected, const std::byte* got) {
  const DataType type = by.call.problem.data_type;
  const std::size_t size = size_of(type);
  for (std::size_t i = 0; i < count; ++i, expected += size, got += size) {
    if (std::memcmp(expected, got, size) == 0) continue;
    const std::size_t position = by.data.position_of(segment.from + done + i);
    if (may_differ(by, position, expected, got)) continue;
    return Mismatch{segment.to + done + i, print_element(type, expected), print_element(type, got)};
  }
  return {};
}

std::optional<Mismatch> compare_segment(const Comparison& by, const Segment& segment,
                                        const std::byte* receive) {
  const std::size_t size = size_of(by.call.problem.data_type);
  const std::vector<std::byte> expected = expected_elements(by.data, segment);
  for (std::size_t done = 0; done < segment.count; done += pattern_period) {
    const std::size_t now = std::min(pattern_period, segment.count - done);
    const std::byte* const got = receive + (segment.to + done) * size;
    if (std::memcmp(expected.data(), got, now * size) == 0) continue;
    if (auto mismatch = compare_elements(by, segment, done, now, expected.data(), got))
      return mismatch;
  }
  return {};
}

void require_size(std::size_t expected, std::size_t got, const char* what) {
  if (expected == got) return;
  throw Error(
      StatusCode::internal,
      fmt::format("the {} buffer of a verified call has {} bytes, not {}", what, got, expected));
}

}  // namespace

bool is_meaningful(const VerifiedCall& call) {
  if (call.pattern == DataPattern::exact) return true;
  const Problem& problem = call.problem;
  if (!is_floating(problem.data_type) || size_of(problem.data_type) > 2) return false;
  const auto accumulates = [](ReduceOp op) { return op == ReduceOp::sum || op == ReduceOp::avg; };
  if (!problem.mesh) return accumulates(problem.reduce_op) && call.ranks >= 3;
  for (const MeshStep& step : problem.mesh->steps)
    if (!accumulates(step.op)) return false;
  // If an input enters more than once, the largest one would exceed the type's range.
  const ValueSource source = OracleData(call, 0).source();
  return source.ranks >= 3 && source.multiplicity == 1;
}

std::string why_not_verifiable(const Problem& problem) {
  if (!problem.mesh) return {};
  const auto has = [&](auto... ops) {
    return std::ranges::any_of(problem.mesh->steps,
                               [&](const MeshStep& step) { return ((step.op == ops) || ...); });
  };
  if (has(ReduceOp::prod) && has(ReduceOp::sum, ReduceOp::avg))
    return "no data is known for which products of sums are the same in every order of "
           "accumulation, and exact";
  return {};
}

void fill_send(const VerifiedCall& call, int rank, std::span<std::byte> send) {
  require_size(send_size(call.problem, call.ranks, call.blocks, rank, call.root).value, send.size(),
               "send");
  if (send.empty()) return;
  const std::size_t period = pattern_period * size_of(call.problem.data_type);
  const std::size_t first = std::min(send.size(), period);
  const OracleData data(call, rank);
  data.write_inputs(rank, data.position_of(0), send.first(first));
  for (std::size_t done = first; done < send.size(); done += period)
    std::memcpy(send.data() + done, send.data(), std::min(period, send.size() - done));
}

std::optional<Mismatch> find_mismatch(const VerifiedCall& call, int rank, Rounding rounding,
                                      std::span<const std::byte> receive) {
  require_size(receive_size(call.problem, call.ranks, call.blocks, rank, call.root).value,
               receive.size(), "receive");
  if (receive.empty()) return {};
  const OracleData data(call, rank);
  for (const Segment& segment : segments_of(call, rank))
    if (auto mismatch = compare_segment({call, data, rounding}, segment, receive.data()))
      return mismatch;
  return {};
}

}  // namespace colltune
