// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "oracle_values.h"

namespace colltune {
namespace {

constexpr int all_ranks = -1;  ///< the source of a segment that is reduced

/// `count` elements of the receive buffer from `to` on: what `source` holds from `from` on.
struct Segment {
  int source = all_ranks;
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t count = 0;
};

std::vector<Segment> segments_of(const VerifiedCall& call, int rank) {
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

bool is_near_enough(const VerifiedCall& call, std::size_t position, const std::byte* expected,
                    const std::byte* got) {
  const DataType type = call.problem.data_type;
  const double off = std::abs(number_at(type, got) - number_at(type, expected));
  return off <= rounding_bound(call, position);  // false for a NaN
}

/// Whether two elements of unlike bits are both right.
bool may_differ(const VerifiedCall& call, Rounding rounding, std::size_t position,
                const std::byte* expected, const std::byte* got) {
  const Problem& problem = call.problem;
  if (problem.reduce_op == ReduceOp::none || !is_floating(problem.data_type)) return false;
  if (number_at(problem.data_type, expected) == 0 && number_at(problem.data_type, got) == 0)
    return true;
  const bool rounds = call.pattern == DataPattern::rounding || problem.reduce_op == ReduceOp::avg;
  return rounding == Rounding::each_step && rounds && is_near_enough(call, position, expected, got);
}

/// The expected elements of a segment's first period.
std::vector<std::byte> expected_elements(const VerifiedCall& call, const Segment& segment) {
  const std::size_t length = std::min(segment.count, pattern_period);
  std::vector<std::byte> elements(length * size_of(call.problem.data_type));
  const std::size_t first = pattern_position(call, segment.from);
  if (segment.source == all_ranks)
    write_reduced(call, first, elements);
  else
    write_inputs(call, segment.source, first, elements);
  return elements;
}

std::optional<Mismatch> compare_elements(const VerifiedCall& call, const Segment& segment,
                                         Rounding rounding, std::size_t done, std::size_t count,
                                         const std::byte* expected, const std::byte* got) {
  const DataType type = call.problem.data_type;
  const std::size_t size = size_of(type);
  for (std::size_t i = 0; i < count; ++i, expected += size, got += size) {
    if (std::memcmp(expected, got, size) == 0) continue;
    const std::size_t position = pattern_position(call, segment.from + done + i);
    if (may_differ(call, rounding, position, expected, got)) continue;
    return Mismatch{segment.to + done + i, print_element(type, expected), print_element(type, got)};
  }
  return {};
}

std::optional<Mismatch> compare_segment(const VerifiedCall& call, const Segment& segment,
                                        Rounding rounding, const std::byte* receive) {
  const std::size_t size = size_of(call.problem.data_type);
  const std::vector<std::byte> expected = expected_elements(call, segment);
  for (std::size_t done = 0; done < segment.count; done += pattern_period) {
    const std::size_t now = std::min(pattern_period, segment.count - done);
    const std::byte* const got = receive + (segment.to + done) * size;
    if (std::memcmp(expected.data(), got, now * size) == 0) continue;
    if (auto mismatch = compare_elements(call, segment, rounding, done, now, expected.data(), got))
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
  const bool accumulates = problem.reduce_op == ReduceOp::sum || problem.reduce_op == ReduceOp::avg;
  return accumulates && is_floating(problem.data_type) && size_of(problem.data_type) <= 2 &&
         call.ranks >= 3;
}

void fill_send(const VerifiedCall& call, int rank, std::span<std::byte> send) {
  require_size(send_size(call.problem, call.ranks, rank == call.root).value, send.size(), "send");
  if (send.empty()) return;
  const std::size_t period = pattern_period * size_of(call.problem.data_type);
  const std::size_t first = std::min(send.size(), period);
  write_inputs(call, rank, pattern_position(call, 0), send.first(first));
  for (std::size_t done = first; done < send.size(); done += period)
    std::memcpy(send.data() + done, send.data(), std::min(period, send.size() - done));
}

std::optional<Mismatch> find_mismatch(const VerifiedCall& call, int rank, Rounding rounding,
                                      std::span<const std::byte> receive) {
  require_size(receive_size(call.problem, call.ranks, rank == call.root).value, receive.size(),
               "receive");
  if (receive.empty()) return {};
  for (const Segment& segment : segments_of(call, rank))
    if (auto mismatch = compare_segment(call, segment, rounding, receive.data())) return mismatch;
  return {};
}

}  // namespace colltune
