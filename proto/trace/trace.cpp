// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/trace/trace.h"

#include <algorithm>
#include <bit>

#include "colltune/vocabulary/problem_form.h"

namespace colltune {
namespace {

constexpr bool are_alike() {
  for (const auto& named : enum_names(Collective{}))
    if (name_of(static_cast<TracedOperation>(named.value)) != named.name) return false;
  return true;
}
static_assert(are_alike(), "the first traced operations are the collectives, with their names");

/// The number in `worlds` of those that lie like `world`, whose communicators it gets.
std::uint32_t add_world(std::vector<TracedWorld>& worlds, const TracedWorld& world) {
  const auto found = std::ranges::find_if(worlds, [&](const TracedWorld& one) {
    return one.ranks == world.ranks && one.nodes == world.nodes &&
           one.ranks_per_node == world.ranks_per_node;
  });
  if (found == worlds.end()) {
    worlds.push_back(world);
    return static_cast<std::uint32_t>(worlds.size()) - 1;
  }
  found->communicators += world.communicators;
  return static_cast<std::uint32_t>(found - worlds.begin());
}

/// The collective of whose problems the call is one; nothing if it is none.
std::optional<Collective> collective_served_by(TracedOperation operation) {
  if (operation == TracedOperation::all_gather_v) return Collective::all_gather;
  if (operation == TracedOperation::reduce_scatter_v) return Collective::reduce_scatter;
  return collective_of(operation);
}

}  // namespace

std::optional<Collective> collective_of(TracedOperation operation) {
  const auto number = static_cast<std::size_t>(operation);
  if (number >= enum_names(Collective{}).size()) return {};
  return static_cast<Collective>(number);
}

std::optional<Counts> counts_of(CountShape shape) {
  switch (shape) {
    case CountShape::equal:
      return Counts::equal;
    case CountShape::one_large:
      return Counts::one_large;
    case CountShape::mixed:
      return Counts::random;
    case CountShape::unseen:
      break;
  }
  return {};
}

TracedCall rounded(TracedCall call) noexcept {
  call.message_size.value = std::bit_floor(call.message_size.value);
  call.is_rounded = true;
  return call;
}

void CallCounts::add(std::uint32_t world, const TracedCall& call, const RankCalls& calls) {
  TracedCall kind = is_irregular(call.operation) ? rounded(call) : call;
  auto found = calls_.find({world, kind});
  if (found == calls_.end() && calls_.size() >= most_exact) {
    kind = rounded(kind);
    found = calls_.find({world, kind});
  }
  if (found != calls_.end())
    found->second.add(calls);
  else if (calls_.size() < most)
    calls_.emplace(std::pair(world, kind), calls);
  else
    not_kept_.add(calls);
}

std::vector<TracedCalls> CallCounts::list() const {
  std::vector<TracedCalls> all;
  for (const auto& [kind, calls] : calls_)
    all.push_back({.world = kind.first, .call = kind.second, .by_ranks = calls});
  return all;
}

TracedProblem problem_of(const TracedCall& call, const TracedWorld& world) {
  TracedProblem found;
  const auto refuse = [&](Unserved why) {
    found.why_not = why;
    return found;
  };
  if (call.persistent) return refuse(Unserved::persistent);
  if (call.is_nonblocking) return refuse(Unserved::nonblocking);
  const auto collective = collective_served_by(call.operation);
  const auto counts = counts_of(call.counts);
  if (!collective || !counts)
    return refuse(is_irregular(call.operation) ? Unserved::irregular : Unserved::other_operation);
  if (world.ranks < 2) return refuse(Unserved::one_rank);
  if (world.nodes < 1 || world.ranks_per_node < 1) return refuse(Unserved::uneven_placement);
  const bool reduces = shape_of(*collective).reduces;
  if (reduces && (!call.data_type || !call.reduce_op || *call.reduce_op == ReduceOp::none))
    return refuse(Unserved::not_in_vocabulary);
  const auto rounded_to = [&](DataType type) {
    return round_message_size(*collective, type, call.message_size, world.ranks, *counts);
  };
  DataType type = reduces ? *call.data_type : DataType::f32;
  if (!reduces && rounded_to(type) != call.message_size) type = DataType::u8;
  found.problem = {.collective = *collective,
                   .data_type = type,
                   .reduce_op = reduces ? *call.reduce_op : ReduceOp::none,
                   .message_size = rounded_to(type),
                   .counts = *counts};
  if (found.problem.message_size.value == 0) return refuse(Unserved::no_element);
  found.problem = in_its_form(found.problem);
  return found;
}

Trace merged(const Trace& first, const Trace& second) {
  Trace sum = first;
  sum.rank_time += second.rank_time;
  sum.worlds.clear();
  CallCounts counts;
  for (const Trace* const one : {&first, &second}) {
    std::vector<std::uint32_t> numbers;
    for (const TracedWorld& world : one->worlds) numbers.push_back(add_world(sum.worlds, world));
    for (const TracedCalls& calls : one->calls)
      counts.add(numbers.at(calls.world), calls.call, calls.by_ranks);
    counts.add_not_kept(one->not_kept);
  }
  sum.calls = counts.list();
  sum.not_kept = counts.not_kept();
  return sum;
}

}  // namespace colltune
