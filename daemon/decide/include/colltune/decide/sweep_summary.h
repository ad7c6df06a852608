// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "colltune/decide/decision_policy.h"
#include "colltune/decide/null_test.h"
#include "colltune/vocabulary/names.h"
#include "colltune/vocabulary/series_launch.h"

namespace colltune {

/// Why a sweep ended. Printed by name.
enum class SweepEnd {
  complete = 0,  ///< every trial of the plan has an outcome in at least one pass
  budget = 1,    ///< the time budget was spent before the first pass reached the last cell
  stopped = 2,   ///< the user asked for it
};
constexpr std::array<Named<SweepEnd>, 3> enum_names(SweepEnd) {
  return {{{SweepEnd::complete, "complete"},
           {SweepEnd::budget, "budget"},
           {SweepEnd::stopped, "stopped"}}};
}
constexpr std::string_view enum_title(SweepEnd) { return "end of a sweep"; }

/// A variant that was not measured for some problems of one world, and why.
struct SkippedVariant {
  std::string topology;  ///< digest
  std::string variant;
  std::string reason;
  std::string ranks_with_it;  ///< for example "0-3,7": the ranks of the launch that support it
  /// First and last index of its problems in SkippedVariants::problems, one pair for each range.
  std::vector<std::vector<int>> problems;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, SkippedVariant>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("topology", self.topology);
  visit("variant", self.variant);
  visit("reason", self.reason);
  visit("ranks_with_it", self.ranks_with_it);
  visit("problems", self.problems);
}

struct SkippedVariants {
  std::vector<std::string> problems;  ///< digests
  std::vector<SkippedVariant> entries;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, SkippedVariants>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("problems", self.problems);
  visit("entries", self.entries);
}

/// What a sweep's row keeps for reports, in addition to the measurements. An empty field was
/// unknown to the program that wrote it, or the sweep did not end.
struct SweepSummary {
  std::optional<SeriesLaunch> launch_of;  ///< which launch of a series it was
  std::optional<SweepEnd> end;
  std::optional<std::chrono::nanoseconds> elapsed;
  std::optional<std::chrono::nanoseconds> budget;
  std::optional<std::chrono::nanoseconds> budget_left;
  std::optional<std::size_t> planned_keys;
  std::optional<DecisionPolicy> decision_policy;
  std::optional<std::map<std::string, std::chrono::nanoseconds>> activities;  ///< by name
  std::optional<std::map<std::string, std::size_t>> trials;                   ///< by outcome
  std::optional<std::map<std::string, std::size_t>> verdicts;
  std::optional<NullTest> null_test;
  std::optional<std::string> noise;    ///< for a person
  std::optional<std::string> pruning;  ///< for a person
  std::optional<SkippedVariants> skipped;
  /// For a launch that confirms decisions: what it could not measure, for a person.
  std::optional<std::vector<std::string>> left_out;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, SweepSummary>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit(series_launch_name, self.launch_of);
  visit("end", self.end);
  visit("elapsed_ns", self.elapsed);
  visit("budget_ns", self.budget);
  visit("budget_left_ns", self.budget_left);
  visit("planned_keys", self.planned_keys);
  visit("decision_policy", self.decision_policy);
  visit("phases_ns", self.activities);
  visit("trials", self.trials);
  visit("verdicts", self.verdicts);
  visit("null_test", self.null_test);
  visit("noise", self.noise);
  visit("pruning", self.pruning);
  visit("skipped", self.skipped);
  visit("left_out", self.left_out);
}

/// The stored form: one JSON object.
[[nodiscard]] std::string to_text(const SweepSummary& summary);

/// Reads what to_text wrote. An empty text gives an empty summary. Unknown members are ignored, so
/// that a newer program may add some. Throws Error(data_loss) that names the sweep if the text
/// cannot be understood.
[[nodiscard]] SweepSummary read_sweep_summary(std::string_view text, const std::string& sweep_uuid);

}  // namespace colltune
