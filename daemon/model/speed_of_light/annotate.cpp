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

EntryGroups check_entry(const CollectiveEntry& entry, GroupLayouts& layouts) {
  if (entry.bytes.value >> 63 != 0)
    throw Error(StatusCode::invalid_argument,
                fmt::format("{} bytes; at most 2^63-1", entry.bytes.value));
  if (entry.reduce_op && (*entry.reduce_op != ReduceOp::none) != reduces(entry.kind))
    throw Error(StatusCode::invalid_argument,
                fmt::format("reduce_op {} of {}", name_of(*entry.reduce_op), name_of(entry.kind)));
  return layouts.of(entry);
}

void check_finite(Microseconds time, std::string_view model) {
  if (!std::isfinite(time.count()))
    throw Error(StatusCode::out_of_range,
                fmt::format("{} gives no finite time with this device's figures", model));
}

Annotation annotate(const CollectiveEntry& entry, int nodes, const Device& device) {
  GroupLayouts layouts(nodes, device);
  return annotate(entry, layouts, device);
}

Annotation annotate(const CollectiveEntry& entry, GroupLayouts& layouts, const Device& device) {
  try {
    const EntryGroups groups = check_entry(entry, layouts);
    const Call call{.kind = entry.kind,
                    .message = entry.bytes,
                    .data_type = entry.data_type,
                    .reduce_op = entry.reduce_op.value_or(ReduceOp::sum),
                    .ranks = groups.largest.ranks,
                    .is_on_one_host = layouts.nodes() == 1,
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
