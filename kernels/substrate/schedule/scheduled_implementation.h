// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/kernels/implementation.h"
#include "schedule/schedule_writer.h"

namespace colltune {

/// A parameter of an algorithm's own, with the settings that a sweep tries.
struct Knob {
  std::string name;
  std::vector<ParameterValue> settings;
};

/// "pull" or "push": who copies where both ranks could.
[[nodiscard]] Knob flow_knob();
[[nodiscard]] bool pushes(const Variant& variant);

/// An algorithm of the ranks of a node that is written as a schedule: what a file in kernels/cpu
/// says about it. The parameters access, chunk and stores are common to all (README.md).
struct ScheduledAlgorithm {
  std::string_view name;
  std::string_view description;
  Collective collective = Collective::all_reduce;
  /// Writes one wave.
  void (*draw)(ScheduleWriter& writer, const Variant& variant) = nullptr;
  /// Into how many shares a message without blocks is cut; null: 1.
  int (*shares)(int ranks) = nullptr;
  /// Rank order means that every result is combined at once.
  NumericClass numeric_class = NumericClass::rank_order;
  int min_ranks = 1;
  bool needs_power_of_two = false;
  /// Whether waves overlap where nothing is staged, so that a chunk size makes sense there, too.
  bool is_pipeline = false;
  std::vector<Knob> knobs{};
};

[[nodiscard]] Implementations make_scheduled(std::vector<ScheduledAlgorithm> algorithms);

}  // namespace colltune
