// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/speed_of_light/annotate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "colltune/vocabulary/error.h"

namespace colltune::speed_of_light {
namespace {

/// How many nodes these ranks are on. Sorts them. Throws where a node has more of them than
/// another.
int count_nodes(std::vector<int>& nodes_of_ranks) {
  std::ranges::sort(nodes_of_ranks);
  int runs = 0;
  std::ptrdiff_t length = 0;
  for (auto begin = nodes_of_ranks.begin(); begin != nodes_of_ranks.end(); ++runs) {
    const auto end = std::upper_bound(begin, nodes_of_ranks.end(), *begin);
    if (runs > 0 && end - begin != length)
      throw Error(StatusCode::invalid_argument,
                  "a replica group has more ranks on one node than on another; there is no model "
                  "of that");
    length = end - begin;
    begin = end;
  }
  return runs;
}

/// How the groups of an entry lie on the nodes; checks that they are groups of the world's ranks.
EntryGroups groups_of(const CollectiveEntry& entry, int nodes, const Device& device) {
  const std::int64_t world = std::int64_t{nodes} * device.gpus_per_node;
  if (world > (1 << 20))
    throw Error(StatusCode::invalid_argument, fmt::format("{} ranks; at most 1048576", world));
  if (!entry.replica_groups || entry.replica_groups->empty())
    return {.largest = {.nodes = nodes, .ranks = static_cast<int>(world)}};
  EntryGroups groups{.largest = {.nodes = 0, .ranks = 0}};
  std::vector<int> all;
  std::vector<int> nodes_of_ranks;
  for (const std::vector<int>& group : *entry.replica_groups) {
    if (group.empty()) throw Error(StatusCode::invalid_argument, "an empty replica group");
    nodes_of_ranks.clear();
    for (const int rank : group) {
      if (rank < 0 || rank >= world)
        throw Error(StatusCode::invalid_argument,
                    fmt::format("rank {} of a replica group; ranks are 0 to {}", rank, world - 1));
      all.push_back(rank);
      nodes_of_ranks.push_back(rank / device.gpus_per_node);
    }
    const int used_nodes = count_nodes(nodes_of_ranks);
    const Communicator here{.nodes = used_nodes, .ranks = static_cast<int>(group.size())};
    if (groups.largest.ranks != 0 &&
        (here.ranks != groups.largest.ranks || here.nodes != groups.largest.nodes))
      groups.are_equal = false;
    // Of unlike groups the one on the most nodes counts, then the largest: all wait for it.
    if (std::pair(here.nodes, here.ranks) > std::pair(groups.largest.nodes, groups.largest.ranks))
      groups.largest = here;
  }
  std::ranges::sort(all);
  if (const auto twice = std::ranges::adjacent_find(all); twice != all.end())
    throw Error(StatusCode::invalid_argument,
                fmt::format("rank {} is in the replica groups twice", *twice));
  return groups;
}

bool reduces(EntryKind kind) {
  return kind == EntryKind::all_reduce || kind == EntryKind::reduce_scatter;
}

void set_choice(Annotation& answer, Strategy strategy, ChosenBy source, std::string why) {
  answer.strategy = strategy;
  answer.source = source;
  answer.why = std::move(why);
}

/// Fills in the strategy, and why.
void choose(const CollectiveEntry& entry, const Call& call, const Device& device,
            Annotation& answer) {
  if (!entry.kernels.value_or(true))
    return set_choice(answer, Strategy::standard, ChosenBy::eligibility,
                      "XLA's kernels are switched off");
  if (entry.strategy && !call.is_on_one_host && *entry.strategy != Strategy::standard)
    return set_choice(
        answer, Strategy::standard, ChosenBy::eligibility,
        fmt::format("the choice {} has no effect across hosts", name_of(*entry.strategy)));
  if (entry.strategy) {
    const std::string why = why_not_eligible(*entry.strategy, call, device, SizeRule::is_ignored);
    if (why.empty())
      return set_choice(answer, *entry.strategy, ChosenBy::caller, "chosen by the caller");
    const std::string what = fmt::format("{} cannot run: {}", name_of(*entry.strategy), why);
    if (!entry.fallback.value_or(false))
      throw Error(StatusCode::failed_precondition,
                  what + "; with \"fallback\": true it is default");
    return set_choice(answer, Strategy::standard, ChosenBy::fallback, what);
  }
  const Strategy by_size = strategy_of_size(call.message, device.has_multimem);
  if (std::string why = why_not_eligible(by_size, call, device); !why.empty())
    return set_choice(answer, Strategy::standard, ChosenBy::eligibility, std::move(why));
  set_choice(answer, by_size, ChosenBy::size, "by the size of the message");
}

void set_times(const CollectiveEntry& entry, const Communicator& world, const Device& device,
               Annotation& answer) {
  answer.memory = memory_time(entry.bytes_accessed.value_or(Bytes{}), device);
  const bool is_kernel = answer.strategy != Strategy::standard;
  if (is_kernel) {
    answer.total = kernel_latency(answer.strategy, entry.bytes, world.ranks, device);
    answer.model = "xla." + std::string(name_of(answer.strategy));
    if (answer.strategy == Strategy::multimem) answer.model += " (estimate)";
  } else if (world.nodes == 1 && world.ranks > 1 && entry.kind != EntryKind::all_to_all &&
             entry.kind != EntryKind::send_recv) {
    answer.total = ring_latency(entry.kind, entry.bytes, world.ranks, device);
    answer.model = "xla.bus";
  } else {
    answer.total = network_latency(entry.kind, entry.bytes, world, device);
    answer.model = entry.kind == EntryKind::all_to_all || entry.kind == EntryKind::send_recv
                       ? "xla." + std::string(name_of(entry.kind))
                       : "xla.ring";
  }
  answer.total += answer.memory;
  check_finite(answer.total, answer.model);
  const bool is_on_node = is_kernel && !entry.asynchronous;
  answer.on_node = is_on_node ? answer.total : low_cost;
  answer.between = is_on_node ? low_cost : answer.total;
}

}  // namespace

EntryGroups check_entry(const CollectiveEntry& entry, int nodes, const Device& device) {
  if (nodes < 1)
    throw Error(StatusCode::invalid_argument, fmt::format("{} nodes; at least 1", nodes));
  if (entry.bytes.value >> 63 != 0)
    throw Error(StatusCode::invalid_argument,
                fmt::format("{} bytes; at most 2^63-1", entry.bytes.value));
  if (entry.reduce_op && (*entry.reduce_op != ReduceOp::none) != reduces(entry.kind))
    throw Error(StatusCode::invalid_argument,
                fmt::format("reduce_op {} of {}", name_of(*entry.reduce_op), name_of(entry.kind)));
  return groups_of(entry, nodes, device);
}

void check_finite(Microseconds time, std::string_view model) {
  if (!std::isfinite(time.count()))
    throw Error(StatusCode::out_of_range,
                fmt::format("{} gives no finite time with this device's figures", model));
}

Annotation annotate(const CollectiveEntry& entry, int nodes, const Device& device) {
  try {
    const EntryGroups groups = check_entry(entry, nodes, device);
    const Call call{.kind = entry.kind,
                    .message = entry.bytes,
                    .data_type = entry.data_type,
                    .reduce_op = entry.reduce_op.value_or(ReduceOp::sum),
                    .ranks = groups.largest.ranks,
                    .is_on_one_host = nodes == 1,
                    .has_equal_groups = groups.are_equal};
    Annotation answer;
    answer.name = entry.name;
    choose(entry, call, device, answer);
    set_times(entry, groups.largest, device, answer);
    return answer;
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("collective '{}': {}", entry.name, error.what()));
  }
}

}  // namespace colltune::speed_of_light
