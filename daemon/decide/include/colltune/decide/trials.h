// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <span>

#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// Which trial of a key a measurement belongs to, in any pass.
struct TrialName {
  Variant variant;
  bool is_twin = false;

  friend auto operator<=>(const TrialName&, const TrialName&) = default;
};
[[nodiscard]] TrialName name_of_trial(const Measurement& measurement);

/// The number of trials with each outcome. A trial counts once, however many passes it ran in: as
/// ok if it was ok in all of them, else with its first other outcome.
[[nodiscard]] std::map<Outcome, std::size_t> count_outcomes(
    std::span<const Measurement> measurements);

/// Whether any trial went wrong.
[[nodiscard]] bool has_fault(const std::map<Outcome, std::size_t>& counts);

}  // namespace colltune
