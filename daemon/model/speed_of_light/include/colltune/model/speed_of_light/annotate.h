// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "colltune/model/speed_of_light/latency.h"
#include "colltune/model/speed_of_light/replica_groups.h"
#include "colltune/vocabulary/annotation/annotation.h"

namespace colltune::speed_of_light {

/// XLA's kLowCost and kLowLatency.
inline constexpr Microseconds low_cost{1.0};

/// Checks what every model asks of an entry: at most 2^63-1 bytes, an operator exactly where the
/// collective reduces, groups that have a layout (GroupLayouts::of). Throws
/// Error(invalid_argument).
[[nodiscard]] EntryGroups check_entry(const CollectiveEntry& entry, GroupLayouts& layouts);

/// Throws Error(out_of_range) that names `model` where a time is not finite: each figure of a
/// device may be right by itself, and a quotient of them beyond a double. JSON has no word for
/// infinity either.
void check_finite(Microseconds time, std::string_view model);

/// Annotates one collective of a program on `nodes` nodes of `device`.
/// - A strategy that the caller chose is used, whatever the size. One that cannot run for another
///   reason is Error(failed_precondition), or `default` with source `fallback` where the entry asks
///   for that. Across hosts a choice has no effect: XLA ignores it there.
/// - Otherwise the size and the eligibility choose.
/// - A synchronous call of a kernel has its time on its node, all others between start and done.
/// - Without kernels everything is as if they did not exist.
/// On one host `default` is xla.bus (the ring of all_reduce, all_gather, reduce_scatter), all else
/// is XLA's network model. Throws Error(invalid_argument) whose message names the entry, and
/// Error(out_of_range) where the device's figures give no finite time.
[[nodiscard]] Annotation annotate(const CollectiveEntry& entry, int nodes, const Device& device);
/// The same for one of many entries of a program, whose layouts `layouts` remembers.
[[nodiscard]] Annotation annotate(const CollectiveEntry& entry, GroupLayouts& layouts,
                                  const Device& device);

}  // namespace colltune::speed_of_light
