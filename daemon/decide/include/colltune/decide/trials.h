// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <span>

#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// Which trial of a key a measurement is of, in whatever pass.
struct TrialName {
  Variant variant;
  bool is_twin = false;

  friend auto operator<=>(const TrialName&, const TrialName&) = default;
};
[[nodiscard]] TrialName name_of_trial(const Measurement& measurement);

/// How many trials ended how. A trial is counted once, whatever number of passes it ran in; it is
/// ok where it was so in all of them, else it is what it was in the first pass where it was not.
[[nodiscard]] std::map<Outcome, std::size_t> count_outcomes(
    std::span<const Measurement> measurements);

/// Whether something went wrong with any of them.
[[nodiscard]] bool has_fault(const std::map<Outcome, std::size_t>& counts);

}  // namespace colltune
