// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/kernels/implementation.h"
#include "schedule_writer.h"

namespace colltune {

/// A parameter of one algorithm, with the settings that a sweep tries.
struct ParameterChoices {
  std::string name;
  std::vector<ParameterValue> settings;
};

/// "pull" or "push": which rank copies if both could.
[[nodiscard]] ParameterChoices flow_choices();
[[nodiscard]] bool pushes(const Variant& variant);

/// An algorithm that is written as a schedule, as a file in kernels/cpu describes it. The
/// parameters access, chunk and stores are common to all (README.md).
struct ScheduledAlgorithm {
  std::string name;
  std::string description;
  Collective collective = Collective::all_reduce;
  /// Writes one wave.
  std::function<void(ScheduleWriter& writer, const Variant& variant)> write_wave{};
  /// How many shares a message without blocks is cut into; null: 1.
  std::function<int(const ScheduledCall& shape, const Variant& variant)> shares{};
  /// Rank order requires that every result is combined in a single step.
  NumericClass numeric_class = NumericClass::rank_order;
  int min_ranks = 1;
  /// Whether waves overlap even if nothing is staged, so that a chunk size is useful there too.
  bool is_pipeline = false;
  std::vector<ParameterChoices> parameters{};
  /// Why it cannot run with these settings on this topology, for a person; empty if it can. Null:
  /// no further conditions. Reads only the variant's `parameters`, as `is_tried` does.
  std::function<std::string(const Topology& topology, const Capability& capability,
                            const Variant& variant)>
      why_not{};
  /// For an algorithm by levels: which ranks it groups together (ScheduledCall::groups). Such an
  /// algorithm cannot be a level of another.
  std::function<Locality(const Variant& variant)> groups_by{};
  /// Whether a sweep tries these settings by default. Null: all of them.
  std::function<bool(const Variant& variant)> is_tried{};
};

/// Settings of the common parameters that are legal for every problem: staged, one wave, cached
/// stores. Sorted by name.
[[nodiscard]] std::vector<Parameter> common_parameters();

/// Why `algorithm` cannot run among `ranks` ranks; empty if it can.
[[nodiscard]] std::string why_not_among(const ScheduledAlgorithm& algorithm, int ranks);

[[nodiscard]] Implementations make_scheduled(std::vector<ScheduledAlgorithm> algorithms);

/// The algorithm of an implementation that make_scheduled made; null for others.
[[nodiscard]] const ScheduledAlgorithm* scheduled_algorithm_of(
    const Implementation& implementation);

}  // namespace colltune
