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

/// A parameter of an algorithm's own, with the settings that a sweep tries.
struct Knob {
  std::string name;
  std::vector<ParameterValue> settings;
};

/// "pull" or "push": who copies where both ranks could.
[[nodiscard]] Knob flow_knob();
[[nodiscard]] bool pushes(const Variant& variant);

/// An algorithm that is written as a schedule: what a file in kernels/cpu says about it. The
/// parameters access, chunk and stores are common to all (README.md).
struct ScheduledAlgorithm {
  std::string name;
  std::string description;
  Collective collective = Collective::all_reduce;
  /// Writes one wave.
  std::function<void(ScheduleWriter& writer, const Variant& variant)> draw{};
  /// Into how many shares a message without blocks is cut; null: 1.
  std::function<int(const ScheduledCall& shape, const Variant& variant)> shares{};
  /// Rank order means that every result is combined at once.
  NumericClass numeric_class = NumericClass::rank_order;
  int min_ranks = 1;
  /// Whether waves overlap where nothing is staged, so that a chunk size makes sense there, too.
  bool is_pipeline = false;
  std::vector<Knob> knobs{};
  /// Why it cannot run with these settings on this topology, for a person; empty where it can.
  /// Null: it can wherever the rest allows.
  std::function<std::string(const Topology& topology, const Capability& capability,
                            const Variant& variant)>
      why_not{};
  /// Of one that is made of others, by levels: which ranks it takes together (ScheduledCall::groups). Such
  /// a one is no level of another.
  std::function<Locality(const Variant& variant)> groups_by{};
  /// Whether a sweep tries these settings unasked. Null: all of them.
  std::function<bool(const Variant& variant)> is_tried{};
};

/// Of the parameters that are common to all, settings that are legal for every problem: staged, in
/// one wave, with plain stores. Sorted by name.
[[nodiscard]] std::vector<Parameter> common_parameters();

/// Why `algorithm` cannot run among `ranks` ranks; empty where it can.
[[nodiscard]] std::string why_not_among(const ScheduledAlgorithm& algorithm, int ranks);

[[nodiscard]] Implementations make_scheduled(std::vector<ScheduledAlgorithm> algorithms);

/// The algorithm of an implementation that make_scheduled made; null for others.
[[nodiscard]] const ScheduledAlgorithm* scheduled_algorithm_of(
    const Implementation& implementation);

}  // namespace colltune
