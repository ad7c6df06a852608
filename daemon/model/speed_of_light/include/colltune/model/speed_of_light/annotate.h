// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/model/speed_of_light/latency.h"

namespace colltune::speed_of_light {

/// A collective of a program, as a user describes it.
struct CollectiveEntry {
  std::string name;  ///< for the answer
  Kind kind = Kind::all_reduce;
  Bytes bytes;  ///< the larger of one rank's send and receive buffers
  DataType data_type = DataType::f32;
  std::optional<ReduceOp> reduce_op;  ///< [sum]; where the collective reduces
  /// The ranks of each group, numbered node by node. [one group of all]
  std::optional<std::vector<std::vector<int>>> replica_groups;
  bool asynchronous = false;
  std::optional<Strategy> strategy;     ///< the caller's choice [by eligibility and size]
  std::optional<bool> fallback;         ///< a choice that cannot run becomes `default` [an error]
  std::optional<bool> kernels;          ///< XLA's kernels are switched on [true]
  std::optional<Bytes> bytes_accessed;  ///< in the device's memory, for the HBM term [0: none]
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, CollectiveEntry>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("name", self.name);
  visit("kind", self.kind);
  visit("bytes", self.bytes);
  visit("data_type", self.data_type);
  visit("reduce_op", self.reduce_op);
  visit("replica_groups", self.replica_groups);
  visit("asynchronous", self.asynchronous);
  visit("strategy", self.strategy);
  visit("fallback", self.fallback);
  visit("kernels", self.kernels);
  visit("bytes_accessed", self.bytes_accessed);
}

/// Who chose a strategy.
enum class ChosenBy { caller = 0, size = 1, eligibility = 2, fallback = 3 };
constexpr std::array<Named<ChosenBy>, 4> enum_names(ChosenBy) {
  return {{{ChosenBy::caller, "caller"},
           {ChosenBy::size, "size"},
           {ChosenBy::eligibility, "eligibility"},
           {ChosenBy::fallback, "fallback"}}};
}
constexpr std::string_view enum_title(ChosenBy) { return "source of a strategy"; }

/// What is said of one collective. A scheduler pays `on_node` where the collective starts, and at
/// least `between` has to pass until it is done; its time is in exactly one of the two, and the
/// other one is the low cost of 1 us.
struct Annotation {
  std::string name;
  Strategy strategy = Strategy::standard;
  ChosenBy source = ChosenBy::size;
  std::string why;
  std::string model;  ///< "xla.one_shot", "xla.ring", …
  Microseconds on_node{};
  Microseconds between{};
  Microseconds memory{};  ///< part of `total`: the HBM term
  Microseconds total{};   ///< what the collective takes
};

/// XLA's kLowCost and kLowLatency.
inline constexpr Microseconds low_cost{1.0};

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

/// All of them, in their order.
[[nodiscard]] std::vector<Annotation> annotate_all(std::span<const CollectiveEntry> entries,
                                                   int nodes, const Device& device);

}  // namespace colltune::speed_of_light
